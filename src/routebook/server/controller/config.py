"""The Controller's settings with Java's keys, defaults and rules: read at start, printed by 1010, changed by 1009."""

from collections.abc import Mapping
from typing import Final

import msgspec

from routebook.errors import RequestError, SettingsError
from routebook.server.controller.log import Node

# Java: ControllerConfig. Kept and printed; those without a field below have no effect here.
DEFAULTS: Final[dict[str, str]] = {
    "configBlackList": "configBlackList;configStorePath",
    "controllerDLegerGroup": "",
    "controllerDLegerPeers": "",
    "controllerDLegerSelfId": "",
    "controllerRequestThreadPoolQueueCapacity": "50000",
    "controllerStorePath": "",
    "controllerThreadPoolNums": "16",
    "controllerType": "DLedger",
    "electMasterMaxRetryCount": "3",
    "enableElectUncleanMaster": "false",
    "isProcessReadEvent": "false",
    "mappedFileSize": "1073741824",
    "metricGrpcExporterIntervalInMills": "60000",
    "metricGrpcExporterTimeOutInMills": "3000",
    "metricLoggingExporterIntervalInMills": "10000",
    "metricsExporterType": "DISABLE",
    "metricsGrpcExporterHeader": "",
    "metricsGrpcExporterTarget": "",
    "metricsInDelta": "false",
    "metricsLabel": "",
    "metricsPromExporterHost": "",
    "metricsPromExporterPort": "5557",
    "notifyBrokerRoleChanged": "true",
    "scanInactiveMasterInterval": "5000",
    "scanNotActiveBrokerInterval": "5000",
}
_ALWAYS_BLACK_LISTED: Final = frozenset({"configBlackList", "configStorePath", "rocketmqHome"})


class Live(msgspec.Struct, frozen=True):
    """Values that 1009 changes while the controller runs."""

    allow_unclean: bool
    linearizable_reads: bool
    notify: bool
    max_elections: int
    master_scan_s: float


class ControllerConfig:
    """One node's settings. `values` holds every key as text, as 1010 prints it."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.values = {**DEFAULTS, **given}
        self._black_list = _ALWAYS_BLACK_LISTED | set(self.values["configBlackList"].split(";"))
        self.group = self._required("controllerDLegerGroup")
        self.self_id = self._required("controllerDLegerSelfId")
        self.peers = _parse_peers(self._required("controllerDLegerPeers"))
        self.broker_scan_s = self._number("scanNotActiveBrokerInterval") / 1000
        if self.self_id not in {peer.id for peer in self.peers}:
            known = ", ".join(peer.id for peer in self.peers)
            raise SettingsError(f"controllerDLegerSelfId={self.self_id} is not in controllerDLegerPeers ({known})")
        self.live = self._live()

    @property
    def node(self) -> Node:
        """This node's own entry in controllerDLegerPeers: where it listens and what brokers are told."""
        return next(peer for peer in self.peers if peer.id == self.self_id)

    def update(self, changes: Mapping[str, str]) -> None:
        """1009: all or nothing; unknown keys have no effect, as in Java."""
        if self._black_list & changes.keys():
            raise BlackListed("Can not update config in black list.")
        before = self.values
        self.values = {**before, **{key: value for key, value in changes.items() if key in before}}
        try:
            self.live = self._live()
        except SettingsError as error:
            self.values = before
            raise RequestError(str(error)) from None

    def text(self) -> str:
        """1010: every key and value, sorted."""
        return "".join(f"{key}={self.values[key]}\n" for key in sorted(self.values))

    def metadata(self, leader: Node | None, *, is_leader: bool) -> dict[str, str]:
        """1005: extFields in the order of Java's hash table."""
        known = {} if leader is None else {"controllerLeaderId": leader.id, "controllerLeaderAddress": leader.address}
        peers = "".join(f"{peer.id}:{peer.address};" for peer in self.peers)
        return {**known, "isLeader": "true" if is_leader else "false", "peers": peers, "group": self.group}

    def _live(self) -> Live:
        return Live(
            allow_unclean=self._flag("enableElectUncleanMaster"),
            linearizable_reads=self._flag("isProcessReadEvent"),
            notify=self._flag("notifyBrokerRoleChanged"),
            max_elections=max(1, self._number("electMasterMaxRetryCount")),
            master_scan_s=self._number("scanInactiveMasterInterval") / 1000,
        )

    def _required(self, key: str) -> str:
        value = self.values[key].strip()
        if not value:
            raise SettingsError(f"Attribute value {key} of ControllerConfig is null or empty")
        return value

    def _flag(self, key: str) -> bool:
        return self.values[key].strip().lower() == "true"

    def _number(self, key: str) -> int:
        try:
            number = int(self.values[key])
        except ValueError:
            raise SettingsError(f"{key}={self.values[key]}: not a number") from None
        if number < 1:
            raise SettingsError(f"{key}={number}: must be at least 1")
        return number


class BlackListed(RequestError):
    """1009 of a key that cannot be changed over the wire."""

    code = 16


def _parse_peers(text: str) -> tuple[Node, ...]:
    """`n0-host:port;n1-host:port`."""
    peers = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        number, dash, address = part.partition("-")
        host, colon, port = address.rpartition(":")
        if not (dash and colon and number and host and port.isdigit()):
            raise SettingsError(f"controllerDLegerPeers: {part!r} is not ID-HOST:PORT")
        peers.append(Node(number, address))
    return tuple(peers)

"""The Controller's settings with Java's keys, defaults and rules: read at start, printed by 1010, changed by 1009."""

from collections.abc import Mapping
from typing import Final

import msgspec

from routebook.errors import RequestError, SettingsError
from routebook.server.controller.log import Node
from routebook.settings import Settings
from routebook.settings.controller_settings import CONTROLLER_DEFAULTS
from routebook.settings.setting import Group, show
from routebook.settings.table import BY_KEY, SETTINGS

MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1
MAX_SCAN_S: Final = 86_400.0
_LONGS: Final = frozenset({"scanInactiveMasterInterval", "scanNotActiveBrokerInterval"})
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
        self.values = {**CONTROLLER_DEFAULTS, **given}
        self._black_list = _ALWAYS_BLACK_LISTED | set(self.values["configBlackList"].split(";"))
        self.group = self._required("controllerDLegerGroup")
        self.self_id = self._required("controllerDLegerSelfId")
        self.peers = _parse_peers(self._required("controllerDLegerPeers"))
        self.broker_scan_s = self._interval_s("scanNotActiveBrokerInterval")
        if self.self_id not in {peer.id for peer in self.peers}:
            known = ", ".join(peer.id for peer in self.peers)
            raise SettingsError(f"controllerDLegerSelfId={self.self_id} is not in controllerDLegerPeers ({known})")
        if self.values["controllerType"] != "DLedger":
            raise SettingsError(
                f"controllerType={self.values['controllerType']}: only DLedger is supported; set controllerType=DLedger"
                " and controllerDLegerGroup, controllerDLegerPeers and controllerDLegerSelfId"
            )
        self.live = self._live()

    @classmethod
    def of(cls, settings: Settings) -> "ControllerConfig":
        """The Controller's settings in the settings of its process."""
        values = settings.values
        home = show(values["rocketmqHome"])
        given = {
            key: show(values[key])
            for key in settings.origins
            if BY_KEY[key].group is Group.NAMESRV and key != "configStorePath"
        }
        network = {setting.key: show(values[setting.key]) for setting in SETTINGS if setting.group is Group.SERVER}
        config = cls(
            {
                "configStorePath": f"{home}/controller/controller.properties",
                **given,
                **settings.foreign,
                **network,
                "jraftConfig": "org.apache.rocketmq.common.JraftConfig@0",  # Java: prints the object
                "rocketmqHome": home,
            }
        )
        config.values["listenPort"] = str(config.port)  # Java: overwritten by the own entry of the peers
        return config

    @property
    def port(self) -> int:
        return int(self.node.address.rpartition(":")[2])

    @property
    def node(self) -> Node:
        """This node's own entry in controllerDLegerPeers: where it listens, and the address that brokers receive."""
        return next(peer for peer in self.peers if peer.id == self.self_id)

    def unreachable_address(self, bind_address: str) -> str | None:
        """What is wrong with the own entry in controllerDLegerPeers, which brokers connect to; None: nothing."""
        host = self.node.address.rpartition(":")[0]
        if not _is_loopback(host) or _is_loopback(bind_address):
            return None
        return (
            f"controllerDLegerPeers has {self.node.address} for this node: brokers on other hosts cannot connect to it;"
            " use an address that they can reach"
        )

    def update(self, changes: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
        """1009: the changed values, and a remark about those that were not applied. Java ignores unknown keys, too."""
        if self._black_list & changes.keys():
            raise BlackListed("Can not update config in black list.")
        changed: dict[str, str] = {}
        problems: list[str] = []
        for key in changes.keys() & self.values.keys():
            try:
                changed[key] = _normal(key, changes[key])
            except SettingsError as error:
                problems.append(str(error))
        self.values = {**self.values, **changed}
        self.live = self._live()
        return changed, f"not applied: {'; '.join(sorted(problems))}" if problems else None

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
            master_scan_s=self._interval_s("scanInactiveMasterInterval"),
        )

    def _required(self, key: str) -> str:
        value = self.values[key].strip()
        if not value:
            raise SettingsError(f"Attribute value {key} of ControllerConfig is null or empty")
        return value

    def _flag(self, key: str) -> bool:
        return self.values[key].strip().lower() == "true"

    def _interval_s(self, key: str) -> float:
        return min(self._number(key) / 1000, MAX_SCAN_S)

    def _number(self, key: str) -> int:
        return int(_normal(key, self.values[key]))


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


def _normal(key: str, value: str) -> str:
    """A value as 1010 prints it; its type is that of the default. Raises SettingsError."""
    default, text = CONTROLLER_DEFAULTS.get(key, ""), value.strip()
    if default in ("true", "false"):
        if text.lower() not in ("true", "false"):
            raise SettingsError(f"{key}={value}: neither true nor false")
        return text.lower()
    if not default.isdigit():
        return value
    try:
        number = int(text)
    except ValueError:
        raise SettingsError(f"{key}={value}: not a number") from None
    highest = MAX_LONG if key in _LONGS else MAX_INT
    if not 1 <= number <= highest:
        raise SettingsError(f"{key}={value}: must be from 1 to {highest}")
    return str(number)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")

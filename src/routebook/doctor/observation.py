"""The observations that the checks examine, and their findings."""

from enum import StrEnum
from typing import Final

import msgspec

from routebook.disagreements import View
from routebook.model import BrokerData, QueueData


class Severity(StrEnum):
    """Errors and warnings are problems; a note is information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(msgspec.Struct, frozen=True):
    """A problem, and what to do about it."""

    severity: Severity
    check: str
    text: str
    advice: str
    count: int = 1  # findings of the same kind that this one stands for
    others: list[str] = []  # their texts


class ObservedNameServer(msgspec.Struct, frozen=True, kw_only=True):
    """A NameServer: its answers, or why it did not answer."""

    who: str
    local: bool = False
    failure: str | None = None
    version: int | None = None
    tls: bool | None = None  # None: not checked
    certificate_until_ms: int | None = None


class ObservedBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A broker address that NameServers list."""

    failure: str | None = None  # the connection failed
    unresponsive: str | None = None  # it accepts connections, but does not answer like a broker
    version: int | None = None
    boot_ms: int | None = None


class ObservedController(msgspec.Struct, frozen=True, kw_only=True):
    """A Controller node: the leader that it names and its peers, or why it did not answer."""

    who: str
    failure: str | None = None
    leader: str | None = None
    peers: tuple[str, ...] = ()


class ObservedReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A broker of a set, as the leader of the Controllers has it."""

    id: int
    addr: str
    alive: bool
    in_sync: bool


class ObservedSet(msgspec.Struct, frozen=True, kw_only=True):
    """A broker set of a Controller."""

    name: str
    master_id: int | None
    replicas: tuple[ObservedReplica, ...]


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """The input of all checks."""

    nameservers: list[ObservedNameServer]
    views: list[View]
    addresses: dict[str, ObservedBroker]
    now_ms: int
    disagreements: list[str] = []  # one sentence each
    unusable_orders: dict[str, str] = {}  # topic → why its order configuration is invalid
    controllers: list[ObservedController] = []
    broker_sets: list[ObservedSet] = []


def broker_groups(observed: Observation) -> dict[str, BrokerData]:
    """All broker groups with the members of all NameServers; if they differ, the first NameServer counts."""
    found: dict[str, BrokerData] = {}
    for view in observed.views:
        for name, data in view.info.broker_addr_table.items():
            known = found.get(name, data)
            found[name] = msgspec.structs.replace(known, broker_addrs={**data.broker_addrs, **known.broker_addrs})
    return dict(sorted(found.items()))


def topic_entries(observed: Observation) -> dict[str, dict[str, QueueData]]:
    """Queues by topic and broker."""
    found: dict[str, dict[str, QueueData]] = {}
    for view in observed.views:
        for topic, route in view.routes.items():
            for data in route.queue_datas:
                found.setdefault(topic, {}).setdefault(data.broker_name, data)
    return found


def is_local(addr: str) -> bool:
    """Whether this is a loopback address."""
    host = addr.rpartition(":")[0].strip("[]")
    return host.startswith("127.") or host in {"localhost", "::1"}


_MAX_NAMES: Final = 10  # in one sentence


def counted(items: int | list[str], what: str) -> str:
    count = items if isinstance(items, int) else len(items)
    return f"{count} {what}{'' if count == 1 else 's'}"


def listed(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more

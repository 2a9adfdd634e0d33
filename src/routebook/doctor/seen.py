"""What the doctor looks at, and what it finds."""

from enum import StrEnum
from typing import Final

import msgspec

from routebook.disagreements import View
from routebook.model import BrokerData, QueueData


class Severity(StrEnum):
    """Errors and warnings are wrong; a note is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing: what it is, and what to do about it."""

    severity: Severity
    check: str
    text: str
    advice: str


def error(check: str, text: str, advice: str) -> Finding:
    """Something does not work."""
    return Finding(severity=Severity.ERROR, check=check, text=text, advice=advice)


def warning(check: str, text: str, advice: str) -> Finding:
    """Something will not work, or not as wanted."""
    return Finding(severity=Severity.WARNING, check=check, text=text, advice=advice)


def note(check: str, text: str, advice: str) -> Finding:
    """Something to know."""
    return Finding(severity=Severity.NOTE, check=check, text=text, advice=advice)


class NameServerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One NameServer as it answered, or why it did not."""

    who: str
    local: bool = False
    why_not: str | None = None
    version: int | None = None
    tls: bool | None = None  # None: not looked at
    certificate_until_ms: int | None = None


class BrokerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One advertised address as it was met."""

    why_not: str | None = None  # it takes no connection
    silent: str | None = None  # it takes connections, and answers nothing that a broker answers
    version: int | None = None
    boot_ms: int | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """All that the doctor looks at."""

    nameservers: list[NameServerSeen]
    views: list[View]
    addresses: dict[str, BrokerSeen]
    now_ms: int
    disagreements: list[str] = []  # each in a sentence
    unusable_orders: dict[str, str] = {}  # topic → why clients cannot use its order


def groups(seen: Seen) -> dict[str, BrokerData]:
    """Every broker group, with the members that any NameServer names; where they differ, the first one's word."""
    found: dict[str, BrokerData] = {}
    for view in seen.views:
        for name, data in view.info.broker_addr_table.items():
            known = found.get(name, data)
            found[name] = msgspec.structs.replace(known, broker_addrs={**data.broker_addrs, **known.broker_addrs})
    return dict(sorted(found.items()))


def entries(seen: Seen) -> dict[str, dict[str, QueueData]]:
    """Topic → broker → queues."""
    found: dict[str, dict[str, QueueData]] = {}
    for view in seen.views:
        for topic, route in view.routes.items():
            for data in route.queue_datas:
                found.setdefault(topic, {}).setdefault(data.broker_name, data)
    return found


def is_local(addr: str) -> bool:
    """Whether only its own machine finds it there."""
    host = addr.rpartition(":")[0].strip("[]")
    return host.startswith("127.") or host in {"localhost", "::1"}


_NAMED: Final = 10  # so many names stand in a sentence


def counted(items: int | list[str], what: str) -> str:
    count = items if isinstance(items, int) else len(items)
    return f"{count} {what}{'' if count == 1 else 's'}"


def listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

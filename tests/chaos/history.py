"""Records of a chaos run: faults, broker uptimes, look-ups and writes, with times of one clock."""

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a NameServer or of the network to it."""

    nameserver: str
    kind: str
    began: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class Uptime:
    """A broker was up and registered itself from `began` until `ended`; None: until the end of the run."""

    broker: str
    began: float
    ended: float | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A look-up with an answer: these brokers are in the route."""

    nameserver: str
    began: float
    ended: float
    brokers: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A look-up without an answer."""

    nameserver: str
    began: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class Write:
    """An acknowledged admin write."""

    nameserver: str
    key: str
    value: str


Observation: TypeAlias = Seen | Unanswered


@dataclass(kw_only=True)
class History:
    """All records until `ended`; `kept` holds the written values that each NameServer had at the end."""

    faults: list[Fault] = field(default_factory=list)
    uptimes: list[Uptime] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    kept: dict[tuple[str, str], str] = field(default_factory=dict)
    ended: float = 0.0

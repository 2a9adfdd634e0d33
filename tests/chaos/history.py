"""What was done to NameServers and brokers, and what was seen of them, in the order of one clock. Pure values."""

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something was wrong with a NameServer, or with the way to it."""

    nameserver: str
    kind: str
    began: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class Life:
    """A broker was up, and sent what it should, from `began` until `ended`; None: to the end."""

    broker: str
    began: float
    ended: float | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A look-up that was answered: these brokers are in the route."""

    nameserver: str
    began: float
    ended: float
    brokers: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A look-up that was not."""

    nameserver: str
    began: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class Write:
    """An administrator's write that was acknowledged."""

    nameserver: str
    key: str
    value: str


Observation: TypeAlias = Seen | Unanswered


@dataclass(kw_only=True)
class History:
    """Everything, until `ended`; `kept` is what each NameServer had of the writes in the end."""

    faults: list[Fault] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    kept: dict[tuple[str, str], str] = field(default_factory=dict)
    ended: float = 0.0

"""What brokers observed of their Controller: answers and notifications, with times of one clock."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The state of a set in an answer or, with `notified`, in a 1008. None: not part of the message.

    A request began at `began`, its answer arrived at `ended`. A master id of 0: the answer names no master.
    """

    of: str
    source: str
    began: float
    ended: float
    notified: bool = False
    master: int | None = None
    master_epoch: int | None = None
    members: frozenset[int] | None = None
    members_epoch: int | None = None
    elected: bool = False  # the message announces an election: members_epoch is its own


@dataclass(frozen=True, kw_only=True)
class IdGiven:
    """An acknowledged 1013."""

    of: str
    number: int
    check_code: str
    ended: float


@dataclass(frozen=True, kw_only=True)
class NextId:
    """An answer to 1012."""

    of: str
    number: int
    began: float


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """The Controller does not know an id (1003, 2010) or a set (1004, 2008)."""

    of: str
    number: int
    began: float


@dataclass(kw_only=True)
class History:
    """`acknowledged` holds messages that masters confirmed, `kept` those of the final master, both by set."""

    seen: list[Seen] = field(default_factory=list)
    ids: list[IdGiven] = field(default_factory=list)
    next_ids: list[NextId] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, set[str]] = field(default_factory=dict)
    refused_stale: int = 0  # messages with an epoch below the broker's own

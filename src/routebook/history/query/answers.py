"""The structs that history queries return. Times are ms since the epoch by the NameServer's own clock."""

import msgspec

from routebook.model import TopicRoute


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The event that caused a version."""

    seq: int
    at_ms: int
    kind: str
    why: str | None = None  # the down reason, or why topics changed
    peer: str | None = None  # address of the client that requested it
    who: str | None = None  # its identity


class Missing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Records that the journal lost; their effect is not in the answer."""

    first_seq: int
    last_seq: int
    why: str


class Extent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The extent of the index: records `first_seq` to `last_seq`, and their earliest and latest time."""

    first_seq: int
    last_seq: int
    from_ms: int
    to_ms: int


class Certainty(msgspec.Struct, frozen=True, kw_only=True):
    """How certain an answer about a time is.

    `known` is false before the first retained record: the answer is then empty. `observed` is false while the
    NameServer was down, and after the last record if it is not running: the answer is its last known state.
    `events_may_be_missing` is true if `missing` is not empty, or if the journal's beginning was already deleted when
    the index was created.
    """

    known: bool
    observed: bool
    events_may_be_missing: bool
    missing: list[Missing]
    extent: Extent | None  # None: the journal is empty


class PastRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's route at a time, or None, and the interval in which it was valid.

    `valid_from_ms` is None if the interval began before the retained history, `valid_to_ms` if it is still valid.
    """

    topic: str
    at_ms: int
    route: TopicRoute | None
    valid_from_ms: int | None
    valid_to_ms: int | None
    cause: Cause | None
    certainty: Certainty


class PastBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A broker group at a time, its members' addresses by id."""

    broker: str
    cluster: str
    addrs: dict[int, str]
    acting_master: bool
    zone: str | None
    since_ms: int | None  # None: since before the retained history


class PastTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic at a past time, with the number of its brokers and queues."""

    name: str
    brokers: int
    read_queues: int
    write_queues: int


class PastTopics(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the topics that had a route at a time; pass `next` as `after` for the following page."""

    at_ms: int
    topics: list[PastTopic]
    next: str | None
    certainty: Certainty


class PastBrokers(msgspec.Struct, frozen=True, kw_only=True):
    """All broker groups at a time."""

    at_ms: int
    brokers: list[PastBroker]
    certainty: Certainty


class RouteStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The difference between two versions of a route, for one broker."""

    broker: str
    change: str  # added, removed, queues, perm, members, mapping; several joined by a comma
    before: str | None = None
    after: str | None = None


class RouteVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's route from one change to the next."""

    valid_from_ms: int
    valid_to_ms: int | None  # None: still valid
    cause: Cause
    steps: list[RouteStep]
    brokers: list[str]
    read_queues: int
    write_queues: int  # of writable brokers


class BrokerVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A broker group from one change to the next; without addresses it did not exist."""

    valid_from_ms: int
    valid_to_ms: int | None
    cause: Cause
    cluster: str | None
    addrs: dict[int, str]
    acting_master: bool
    zone: str | None


class RouteTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The newest versions of a topic's route, newest first."""

    topic: str
    versions: list[RouteVersion]
    more: bool  # older versions exist
    certainty: Certainty


class BrokerTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The newest versions of a broker group, newest first."""

    broker: str
    versions: list[BrokerVersion]
    more: bool
    certainty: Certainty

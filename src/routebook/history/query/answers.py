"""What history answers. Times are ms since the epoch by the NameServer's own clock; a None is said in words."""

import msgspec

from routebook.model import TopicRoute


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The event that brought a version about."""

    seq: int
    at_ms: int
    kind: str
    why: str | None = None  # a broker's reason to leave, or why its topics changed
    peer: str | None = None  # who asked for it, where somebody did
    who: str | None = None


class Missing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Records that the journal has lost: what they told is not in the answer."""

    first_seq: int
    last_seq: int
    why: str


class Extent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the index knows: records `first_seq` to `last_seq`, from the first's time to the latest there was."""

    first_seq: int
    last_seq: int
    from_ms: int
    to_ms: int


class Certainty(msgspec.Struct, frozen=True, kw_only=True):
    """How far an answer about a time can be trusted.

    `known` is false before the first record that is kept: the answer is then empty and means nothing. `observed` is
    false while the NameServer itself was down, and after the last record of one that is not running: the answer is
    what it knew last. `events_may_be_missing` names `missing`, or a journal whose beginning was gone when this index
    was made.
    """

    known: bool
    observed: bool
    events_may_be_missing: bool
    missing: list[Missing]
    extent: Extent | None  # None: nothing was ever journalled


class PastRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's route at a time; `route` is None if it had none. It was so from `valid_from_ms` to `valid_to_ms`.

    `valid_from_ms` is None if it was so before anything that is kept, `valid_to_ms` if it is still so.
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
    since_ms: int | None  # None: since before anything that is kept


class PastBrokers(msgspec.Struct, frozen=True, kw_only=True):
    """All broker groups at a time."""

    at_ms: int
    brokers: list[PastBroker]
    certainty: Certainty


class RouteStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one version of a route has that the one before had not, about one broker."""

    broker: str
    change: str  # added, removed, queues, perm, members, mapping; several joined by a comma
    before: str | None = None
    after: str | None = None


class RouteVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's route from one change to the next."""

    valid_from_ms: int
    valid_to_ms: int | None  # None: still so
    cause: Cause
    steps: list[RouteStep]
    brokers: list[str]
    read_queues: int
    write_queues: int  # of the brokers that take writes


class BrokerVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A broker group from one change to the next; without addresses it was gone."""

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
    more: bool  # there are older ones
    certainty: Certainty


class BrokerTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The newest versions of a broker group, newest first."""

    broker: str
    versions: list[BrokerVersion]
    more: bool
    certainty: Certainty

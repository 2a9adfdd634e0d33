"""Explains why a topic has no route, or a limited one, at a time: the cause, and the evidence for it. Pure."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from routebook.codes import PERM_WRITE
from routebook.doctor.observation import counted, listed
from routebook.events import DownReason, TopicCause
from routebook.history.query.answers import Cause, Certainty, RouteVersion
from routebook.model import TopicRoute
from routebook.times import format_time

_DAY_MS: Final = 86_400_000
_MAX_EVIDENCE: Final = 8
_MAX_NAMED: Final = 5
_CREATED_ON_USE: Final = ("%RETRY%", "%DLQ%")


class CauseKind(StrEnum):
    """Why a route is missing or limited."""

    CLOSED = "closed"  # the broker's connection closed, and the broker had not unregistered
    CRASH_OR_NETWORK = "crash_or_network"  # the connection carried no data until the NameServer closed it
    CLEAN_STOP = "clean_stop"  # the broker unregistered, or was replaced or removed by an operator
    EXPIRED = "expired"  # no heartbeat within the broker's timeout
    WIPED = "wiped"  # an operator removed the write permission
    CONFIGURED = "configured"  # the broker registered the topic without write permission
    DELETED = "deleted"  # the topic was deleted, here or on the broker
    NEVER_EXISTED = "never_existed"
    NAMESERVER_DOWN = "nameserver_down"
    PROTECTED = "protected"  # a silent broker, kept by mass-expiry protection


class State(StrEnum):
    """What clients got for the topic."""

    AVAILABLE = "available"
    REDUCED = "reduced"  # a broker of the route left within 24 hours, or cannot be written to
    READ_ONLY = "read_only"  # no broker of the route accepts writes
    NONE = "none"
    UNKNOWN = "unknown"  # before the first record


class LikelyCause(msgspec.Struct, frozen=True, kw_only=True):
    """The cause, the event that shows it, and its sender if it was a request."""

    kind: CauseKind
    broker: str | None
    text: str
    at_ms: int | None = None
    seq: int | None = None
    peer: str | None = None
    who: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One fact, newest first; `seq` is the journal record that contains it."""

    text: str
    at_ms: int | None = None
    seq: int | None = None


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a topic had a route at a time, why not, and since when. `cause` is null if nothing limited the route."""

    topic: str
    at_ms: int
    has_route: bool
    state: State
    summary: str
    cause: LikelyCause | None
    evidence: list[Evidence]
    advice: str
    brokers: list[str]
    valid_from_ms: int | None
    valid_to_ms: int | None
    certainty: Certainty


class Downtime(msgspec.Struct, frozen=True, kw_only=True):
    """An interval in which the NameServer did not run."""

    from_ms: int
    to_ms: int | None
    clean: bool


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """Mass-expiry protection at the time: since when, and the addresses of the silent brokers."""

    since_ms: int
    silent: frozenset[str]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a topic at a time. `versions` are those up to then, newest first."""

    topic: str
    at_ms: int
    route: TopicRoute | None
    versions: list[RouteVersion]
    certainty: Certainty
    downtime: Downtime | None = None
    protection: Protection | None = None
    left_nearby: tuple[str, ...] = ()  # other brokers that left unplanned within 30 s of the cause


def without_senders(facts: Facts) -> Facts:
    """The facts without addresses and names of those who sent requests."""
    versions = [
        msgspec.structs.replace(one, cause=msgspec.structs.replace(one.cause, peer=None, who=None))
        for one in facts.versions
    ]
    return msgspec.structs.replace(facts, versions=versions)


def explain(facts: Facts) -> Why:
    """Return the explanation. The cause of a missing route is the departure of its last broker."""
    state, cause = _judge(facts)
    current = next(iter(facts.versions), None)
    has_route = facts.route is not None and facts.downtime is None
    return Why(
        topic=facts.topic,
        at_ms=facts.at_ms,
        has_route=has_route,
        state=state,
        summary=_summary(facts, state, cause),
        cause=cause,
        evidence=list(_evidence(facts, cause))[:_MAX_EVIDENCE],
        advice=_advice(facts, state, cause),
        brokers=sorted(data.broker_name for data in facts.route.queue_datas) if facts.route is not None else [],
        valid_from_ms=None if current is None else current.valid_from_ms,
        valid_to_ms=None if current is None else current.valid_to_ms,
        certainty=facts.certainty,
    )


def departure(versions: list[RouteVersion]) -> RouteVersion | None:
    """The version without brokers that is valid now, if any: its cause removed the last broker."""
    return versions[0] if versions and not versions[0].brokers else None


def _judge(facts: Facts) -> tuple[State, LikelyCause | None]:
    if not facts.certainty.known and facts.route is None:
        return State.UNKNOWN, None
    if facts.downtime is not None:
        return State.NONE, _nameserver_down(facts.downtime)
    if facts.route is None:
        gone = departure(facts.versions)
        return State.NONE, _never_existed(facts) if gone is None else _removal(facts.topic, gone)
    limits = [*_read_only(facts), *_protected(facts), *_lost(facts)]
    if not any(queue.perm & PERM_WRITE for queue in facts.route.queue_datas):
        return State.READ_ONLY, next(iter(limits), None)
    return (State.REDUCED, limits[0]) if limits else (State.AVAILABLE, None)


def _never_existed(facts: Facts) -> LikelyCause:
    extent = facts.certainty.extent
    since = "" if extent is None else f" since {format_time(extent.from_ms)}, when the records begin"
    return LikelyCause(kind=CauseKind.NEVER_EXISTED, broker=None, text=f"no broker has registered {facts.topic}{since}")


def _nameserver_down(down: Downtime) -> LikelyCause:
    until = "" if down.to_ms is None else f" to {format_time(down.to_ms)}"
    how = "after a clean shutdown" if down.clean else "after a crash or a kill"
    text = f"this NameServer did not run from {format_time(down.from_ms)}{until}, {how}"
    return LikelyCause(kind=CauseKind.NAMESERVER_DOWN, broker=None, text=text, at_ms=down.from_ms)


def _removal(topic: str, version: RouteVersion) -> LikelyCause:
    removed = [step.broker for step in version.steps if step.change == "removed"]
    return _of_event(topic, version.cause, removed[0] if removed else None)


def _of_event(topic: str, event: Cause, broker: str | None) -> LikelyCause:
    kind, text = _classify(topic, event, broker or "the broker")
    is_general = kind in (CauseKind.NAMESERVER_DOWN, CauseKind.NEVER_EXISTED) or event.kind == "topic_deleted"
    return LikelyCause(
        kind=kind,
        broker=None if is_general else broker,
        text=text,
        at_ms=event.at_ms,
        seq=event.seq,
        peer=event.peer,
        who=event.who,
    )


def _classify(topic: str, event: Cause, broker: str) -> tuple[CauseKind, str]:
    sender = f"a request from {event.peer}{f' ({event.who})' if event.who else ''}" if event.peer else "an operator"
    match event.kind, event.why:
        case "topic_deleted", _:
            return CauseKind.DELETED, f"{topic} was deleted by {sender}"
        case "topics_changed", TopicCause.REGISTRATION | TopicCause.REGISTER_TOPIC:
            return CauseKind.DELETED, f"{broker} registered without {topic}: the topic was deleted on the broker"
        case "permission_wiped", _:
            return CauseKind.WIPED, f"the write permission of {broker} was wiped by {sender}"
        case "server_started", _:
            return CauseKind.NAMESERVER_DOWN, "this NameServer started without saved state"
        case _, DownReason.UNREGISTERED:
            return CauseKind.CLEAN_STOP, f"{broker} unregistered: clean shutdown"
        case _, DownReason.DEREGISTERED:
            return CauseKind.CLEAN_STOP, f"{broker} was deregistered by {sender}"
        case _, DownReason.REPLACED:
            return CauseKind.CLEAN_STOP, f"{broker} was replaced: another address took its id, or it changed cluster"
        case _, DownReason.EXPIRED:
            return CauseKind.EXPIRED, f"{broker} sent no heartbeat within its timeout"
        case _, DownReason.CLOSED:
            return CauseKind.CLOSED, f"the connection of {broker} closed and it had not unregistered: crash or network"
        case _:
            return CauseKind.CRASH_OR_NETWORK, f"the connection of {broker} carried no data: crash or network"


def _read_only(facts: Facts) -> Iterator[LikelyCause]:
    """Brokers of the route that do not accept writes."""
    for queue in facts.route.queue_datas if facts.route is not None else ():
        if queue.perm & PERM_WRITE:
            continue
        broker = queue.broker_name
        event = _last_change(facts.versions, broker)
        if event is not None and event.kind in ("permission_wiped", "broker_down"):
            yield _of_event(facts.topic, event, broker)
        else:
            text = f"{broker} registered {facts.topic} without write permission"
            yield LikelyCause(kind=CauseKind.CONFIGURED, broker=broker, text=text)


def _last_change(versions: list[RouteVersion], broker: str) -> Cause | None:
    for version in versions:
        for step in version.steps:
            if step.broker == broker and ("perm" in step.change or step.change == "added"):
                return version.cause
    return None


def _protected(facts: Facts) -> Iterator[LikelyCause]:
    if facts.protection is None or facts.route is None:
        return
    for data in facts.route.broker_datas:
        if not facts.protection.silent.isdisjoint(data.broker_addrs.values()):
            since = format_time(facts.protection.since_ms)
            text = f"{data.broker_name} sends no heartbeats; mass-expiry protection keeps its routes since {since}"
            yield LikelyCause(
                kind=CauseKind.PROTECTED, broker=data.broker_name, text=text, at_ms=facts.protection.since_ms
            )


def _lost(facts: Facts) -> Iterator[LikelyCause]:
    """Brokers that left the route within a day and have not returned."""
    present = set(facts.versions[0].brokers) if facts.versions else set()
    for version in facts.versions:
        if version.valid_from_ms < facts.at_ms - _DAY_MS or version.cause.kind != "broker_down":
            continue
        for step in version.steps:
            if step.change == "removed" and step.broker not in present:
                present.add(step.broker)
                yield _of_event(facts.topic, version.cause, step.broker)


def _summary(facts: Facts, state: State, cause: LikelyCause | None) -> str:
    at, why = format_time(facts.at_ms), "" if cause is None else f": {cause.text}"
    match state:
        case State.UNKNOWN:
            return f"unknown: {at} is before the first record"
        case State.NONE:
            return f"{facts.topic} had no route at {at}{why}"
        case State.READ_ONLY:
            return f"{facts.topic} had a route without write permission at {at}{why}"
        case State.REDUCED:
            return f"{facts.topic} had a route with fewer brokers than usual at {at}{why}"
        case State.AVAILABLE:
            return f"{facts.topic} had a route at {at}, and nothing limited it"


def _evidence(facts: Facts, cause: LikelyCause | None) -> Iterator[Evidence]:
    if facts.downtime is not None and facts.versions:
        names = listed(facts.versions[0].brokers) or "none"
        yield Evidence(text=f"brokers of the route before: {names}")
    if cause is not None and cause.kind in _DEPARTURES:
        if facts.left_nearby:
            others = [*facts.left_nearby]
            text = f"{counted(others, 'other broker')} left unplanned within 30 s: {listed(others)}"
            yield Evidence(text=f"{text}; this suggests the network or this NameServer's host")
        else:
            yield Evidence(text="no other broker left unplanned within 30 s: this suggests the broker itself")
    for version in facts.versions:
        parts = [f"{step.broker} {step.change}" for step in version.steps[:_MAX_NAMED]]
        more = len(version.steps) - len(parts)
        event = version.cause
        reason = f" ({event.why})" if event.why else ""
        text = f"{event.kind.replace('_', ' ')}{reason}: {', '.join(parts)}{f' and {more} more' if more > 0 else ''}"
        yield Evidence(text=text, at_ms=event.at_ms, seq=event.seq)
    if facts.certainty.events_may_be_missing:
        yield Evidence(text="the records are incomplete: events may be missing")


_DEPARTURES: Final = frozenset({CauseKind.CLOSED, CauseKind.CRASH_OR_NETWORK, CauseKind.EXPIRED})


def _advice(facts: Facts, state: State, cause: LikelyCause | None) -> str:
    if cause is None:
        return "" if state is State.AVAILABLE else "Choose a later time."
    broker = cause.broker or "the broker"
    match cause.kind:
        case CauseKind.NEVER_EXISTED if facts.topic.startswith(_CREATED_ON_USE):
            return "Expected: the broker creates this topic when a consumer group first needs it."
        case CauseKind.NEVER_EXISTED:
            return "Check the spelling, create the topic, or check namesrvAddr of the brokers that have it."
        case CauseKind.DELETED:
            return "Create the topic again if it is still needed."
        case CauseKind.WIPED:
            return f"routebook broker restore {broker}"
        case CauseKind.CONFIGURED:
            return f"Change the topic's permission on {broker} (mqadmin updateTopicPerm)."
        case CauseKind.NAMESERVER_DOWN:
            return "Run two or more NameServers, so that clients get routes from another one."
        case CauseKind.PROTECTED:
            return f"Check the network between {broker} and this NameServer."
        case CauseKind.CLEAN_STOP:
            return f"Start {broker} again, or create the topic on another broker."
        case _:
            return f"Check the process, the host and the network of {broker} at that time."

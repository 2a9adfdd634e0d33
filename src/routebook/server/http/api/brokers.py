"""`/v1/brokers/{name}/…`: what a broker's page shows: its sessions, its heartbeats, what its loss would break."""

import asyncio
from typing import Annotated, Final

import msgspec
from litestar import get
from litestar.params import QueryParameter

from routebook.codes import PERM_WRITE
from routebook.history.query.answers import Certainty
from routebook.history.query.sessions import ServerRun, Session
from routebook.rollup import percentile
from routebook.server.http.api.dependencies import Context, Thread
from routebook.server.http.api.names import from_path
from routebook.server.http.api.overview import Live
from routebook.server.http.api.tables import InPath
from routebook.server.http.api.timelines import asked_of, history_of
from routebook.server.http.errors import Refusal, documented
from routebook.server.http.views.availability import Day, by_day

_DAY_MS: Final = 86_400_000
_AT_A_TIME: Final = 4096


class MemberSession(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time in which an address was there; docs/http.md says what `began` and `ended` may be."""

    from_ms: int
    to_ms: int | None
    began: str
    ended: str | None
    planned: bool | None
    peer: str | None
    who: str | None


class MemberSessions(msgspec.Struct, frozen=True, kw_only=True):
    """One address under one id."""

    broker_id: int
    addr: str
    cluster: str
    sessions: list[MemberSession]
    days: list[Day]


class SessionsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """When the members of a group were there, and when this NameServer was."""

    broker: str
    from_ms: int
    to_ms: int
    now_ms: int
    members: list[MemberSessions]
    nameserver: list[ServerRun]
    certainty: Certainty


class BeatMinute(msgspec.Struct, frozen=True, kw_only=True):
    """Signs of life in one minute."""

    minute_ms: int
    beats: int
    max_gap_ms: int


class MemberBeats(msgspec.Struct, frozen=True, kw_only=True):
    """How regularly an address gave sign of life."""

    addr: str
    cluster: str
    beats: int
    gap_p50_ms: int | None
    gap_p99_ms: int | None
    gap_max_ms: int
    minutes: list[BeatMinute]


class BeatsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeats of the last three hours, since this start at the earliest."""

    broker: str
    since_ms: int
    members: list[MemberBeats]


class TopicNames(msgspec.Struct, frozen=True, kw_only=True):
    """So many, and the first of them by name."""

    total: int
    names: list[str]


class LossAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What would be lost with all members of a group."""

    broker: str
    topics: int
    only_here: TopicNames  # their routes would be gone
    writes_only_here: TopicNames  # others have them, and none of those takes writes
    write_queues: int
    read_queues: int
    members: int
    has_other_members: bool  # beside one of them


@get("/v1/brokers/{name:str}/sessions", summary="When a broker was there", responses=documented(404, 503))
async def broker_sessions(
    context: Context,
    threads: Thread,
    name: InPath,
    days: Annotated[int, QueryParameter(ge=1, le=366, description="how far back")] = 7,
) -> SessionsAnswer:
    """Sessions with the reasons of their ends, and how much of each day (UTC) it was there."""
    history, broker, now_ms = history_of(context), from_path(name), context.now_ms()
    from_ms = now_ms - days * _DAY_MS
    answer = await asked_of(threads, lambda: history.sessions(broker, since_ms=from_ms))
    if answer is None:
        raise Refusal(404, "nobody has heard of a broker of this name", "/v1/brokers lists those there are")
    found, runs, certainty = answer
    members: dict[tuple[int, str], list[Session]] = {}
    for session in found:
        members.setdefault((session.broker_id, session.addr), []).append(session)
    return SessionsAnswer(
        broker=broker,
        from_ms=from_ms,
        to_ms=now_ms,
        now_ms=now_ms,
        members=[
            MemberSessions(
                broker_id=broker_id,
                addr=addr,
                cluster=sessions[-1].cluster,
                sessions=[
                    MemberSession(
                        from_ms=one.from_ms,
                        to_ms=one.to_ms,
                        began=one.began,
                        ended=one.ended,
                        planned=one.planned,
                        peer=one.peer,
                        who=one.who,
                    )
                    for one in sessions
                ],
                days=by_day(sessions, runs, from_ms=from_ms, to_ms=now_ms),
            )
            for (broker_id, addr), sessions in sorted(members.items())
        ],
        nameserver=runs,
        certainty=certainty,
    )


@get("/v1/brokers/{name:str}/beats", summary="How regular a broker's heartbeats are", responses=documented())
async def broker_beats(context: Context, hub: Live, name: InPath) -> BeatsAnswer:
    """Gaps between heartbeats per minute and their percentiles, in the last three hours; the lake has older ones."""
    broker, now_ms = from_path(name), context.now_ms()
    hub.take_in()
    members = []
    for key, beats in hub.recent.beats.items():
        if beats.broker != broker:
            continue
        minutes = [BeatMinute(minute_ms=at, beats=count, max_gap_ms=gap) for at, count, gap in beats.minutes(now_ms)]
        greatest = max((minute.max_gap_ms for minute in minutes), default=0)
        gaps_ms = beats.gaps(now_ms)
        members.append(
            MemberBeats(
                addr=key.addr,
                cluster=key.cluster,
                beats=sum(minute.beats for minute in minutes),
                gap_p50_ms=percentile(gaps_ms, 0.5, greatest=greatest or None),
                gap_p99_ms=percentile(gaps_ms, 0.99, greatest=greatest or None),
                gap_max_ms=greatest,
                minutes=minutes,
            )
        )
    return BeatsAnswer(broker=broker, since_ms=hub.recent.since_ms, members=sorted(members, key=lambda one: one.addr))


@get("/v1/brokers/{name:str}/loss", summary="What a broker's loss would break", responses=documented(404))
async def broker_loss(
    context: Context,
    name: InPath,
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="how many names at most")] = 100,
) -> LossAnswer:
    """Topics that nobody else has, or that nobody else takes writes for, were all members of the group to go."""
    broker, routes = from_path(name), context.nameserver.routes
    group = routes.group(broker)
    if group is None:
        raise Refusal(404, "there is no broker of this name now", "/v1/brokers lists those there are")
    members = len(group.members)
    topics = write_queues = read_queues = 0
    only_here: list[str] = []
    writes_only_here: list[str] = []
    entries = list(routes.topic_table.items())
    for start in range(0, len(entries), _AT_A_TIME):
        for topic, entry in entries[start : start + _AT_A_TIME]:
            queue = entry.queues.get(broker)
            if queue is None:
                continue
            topics += 1
            read_queues += queue.read_queue_nums
            takes_writes = queue.perm & PERM_WRITE
            write_queues += queue.write_queue_nums if takes_writes else 0
            if len(entry.queues) == 1:
                only_here.append(topic)
            elif takes_writes and not any(
                other.perm & PERM_WRITE for place, other in entry.queues.items() if place != broker
            ):
                writes_only_here.append(topic)
        await asyncio.sleep(0)
    return LossAnswer(
        broker=broker,
        topics=topics,
        only_here=TopicNames(total=len(only_here), names=sorted(only_here)[:limit]),
        writes_only_here=TopicNames(total=len(writes_only_here), names=sorted(writes_only_here)[:limit]),
        write_queues=write_queues,
        read_queues=read_queues,
        members=members,
        has_other_members=members > 1,
    )

"""`/v1/clusters` and `/v1/brokers`: broker groups, their past, uptime and heartbeats, and the impact of losing one."""

import asyncio
import contextlib
from bisect import bisect_right
from typing import Final

import msgspec
from litestar import get

from routebook.doctor.maintenance import OwnTopics
from routebook.errors import JournalDegraded
from routebook.events import TopicCause, TopicsChanged
from routebook.history.query.answers import BrokerTimeline, Certainty
from routebook.history.query.sessions import ServerRun, Session
from routebook.journal.read.backwards import Page, find_newest
from routebook.journal.read.select import Selection
from routebook.rollup import percentile
from routebook.server.http.api.parameters import (
    After,
    At,
    Days,
    Limit,
    NameInPath,
    OnlyCluster,
    find_group,
    from_path,
    parse_time,
    query_history,
)
from routebook.server.http.api.parts import ContextDep, Parts, PartsDep
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.http.live.hub import MINUTE_KINDS
from routebook.server.http.views import answers, tables
from routebook.server.http.views.availability import Day, by_day
from routebook.server.http.views.impact import impact_of
from routebook.server.http.views.topic_names import slices

_DAY_MS: Final = 86_400_000


class TopicNames(msgspec.Struct, frozen=True, kw_only=True):
    """The number of topics, and the first of them by name."""

    total: int
    names: list[str]


class LossAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Impact of losing all members of a group. `down_at_ms` is set if it has happened."""

    broker: str
    topics: int
    only_here: TopicNames  # topics that would have no broker
    writes_only_here: TopicNames  # topics that would have no writable broker
    write_queues: int
    read_queues: int
    members: int
    has_other_members: bool  # more than one member
    down_at_ms: int | None = None


@get("/v1/clusters", summary="Clusters and their broker groups")
async def clusters(context: ContextDep) -> answers.ClustersAnswer:
    return answers.ClustersAnswer(clusters=tables.clusters(context.nameserver))


@get("/v1/brokers", summary="Broker groups, now or at a past time", responses=error_specs(503))
async def brokers(
    parts: PartsDep, at: At = None, cluster: OnlyCluster = None, after: After = "", limit: Limit = 500
) -> answers.BrokersAnswer | answers.PastBrokersAnswer:
    if at is not None:
        at_ms = parse_time(at, parts.context.wall_ms())
        found = await query_history(parts, lambda history: history.brokers_at(at_ms))
        past = tables.past_brokers(found)
        groups = [group for group in past.groups if cluster in (None, group.cluster)]
        return msgspec.structs.replace(past, groups=groups)
    routes, now_ms = parts.context.nameserver.routes, parts.context.now_ms()
    names = sorted(routes.group_table if cluster is None else routes.cluster_table.get(cluster, ()))
    begin = bisect_right(names, after) if after else 0
    page = names[begin : begin + limit]
    return answers.BrokersAnswer(
        at_ms=now_ms,
        total=len(names),
        groups=[tables.group(parts.context.nameserver, routes.group_table[name], now_ms) for name in page],
        next=page[-1] if len(names) > begin + limit else None,
    )


@get("/v1/brokers/{name:str}", summary="One broker group", responses=error_specs(404))
async def broker(context: ContextDep, name: NameInPath) -> answers.BrokerAnswer:
    name, now_ms = from_path(name), context.now_ms()
    group = tables.group(context.nameserver, find_group(context.nameserver, name), now_ms)
    topics = 0
    async for entries in slices(list(context.nameserver.routes.topic_table.values())):
        topics += sum(name in entry.queues for entry in entries)
    return answers.BrokerAnswer(at_ms=now_ms, group=group, topics=topics)


@get("/v1/brokers/{name:str}/history", summary="Changes of a broker group", responses=error_specs(503))
async def broker_history(parts: PartsDep, name: NameInPath, limit: Limit = 20) -> BrokerTimeline:
    """The newest versions of a broker group, newest first; a version without addresses means that it was down."""
    name = from_path(name)
    return await query_history(parts, lambda history: history.broker_timeline(name, limit=limit))


@get("/v1/brokers/{name:str}/loss", summary="Impact if a broker goes down", responses=error_specs(404))
async def broker_loss(parts: PartsDep, name: NameInPath, limit: Limit = 100) -> LossAnswer:
    """Topics that only this group has, or that only this group accepts writes for. System topics are not counted.

    For a group that is down: the topics that it had, and those of them that have no route now.
    """
    name, context = from_path(name), parts.context
    if context.nameserver.routes.group(name) is None and (past := await _past_loss(parts, name, limit)) is not None:
        return past
    members = len(find_group(context.nameserver, name).members)
    impact = await impact_of(context.nameserver, name)
    return LossAnswer(
        broker=name,
        topics=impact.topics,
        only_here=TopicNames(total=len(impact.only_here), names=sorted(impact.only_here)[:limit]),
        writes_only_here=TopicNames(total=len(impact.writes_only_here), names=sorted(impact.writes_only_here)[:limit]),
        write_queues=impact.write_queues,
        read_queues=impact.read_queues,
        members=members,
        has_other_members=members > 1,
    )


async def _past_loss(parts: Parts, broker: str, limit: int) -> LossAnswer | None:
    """What went down with a group, from the record of its removal; None if there is none."""
    files, routes = parts.context.journal_files, parts.context.nameserver.routes
    if files is None:
        return None
    journal = parts.context.journal
    if journal is not None and (last := journal.status().last_seq):
        with contextlib.suppress(JournalDegraded):  # the removal may be in a batch that is not written yet
            await asyncio.wrap_future(journal.durable(last))
    wanted = Selection(kinds=frozenset({"topics_changed"}), brokers=frozenset({broker}))
    page = Page(limit=5, excluded_kinds=MINUTE_KINDS)
    found = await parts.threads.run(lambda: find_newest(files, page, wanted))
    for record in found.records:
        event = record.event
        if not isinstance(event, TopicsChanged) or event.cause is not TopicCause.REMOVAL:
            continue
        own = OwnTopics(brokers=[broker, *routes.group_table], clusters=routes.cluster_table)
        topics = [topic for topic in event.removed if topic not in own]
        without_route = sorted(topic for topic in topics if topic not in routes.topic_table)
        return LossAnswer(
            broker=broker,
            topics=len(topics),
            only_here=TopicNames(total=len(without_route), names=without_route[:limit]),
            writes_only_here=TopicNames(total=0, names=[]),
            write_queues=0,
            read_queues=0,
            members=0,
            has_other_members=False,
            down_at_ms=record.at,
        )
    return None


class MemberSession(msgspec.Struct, frozen=True, kw_only=True):
    """An interval in which the broker was registered; docs/http.md lists the values of `began` and `ended`."""

    broker_id: int
    addr: str
    from_ms: int
    to_ms: int | None
    began: str
    ended: str | None
    planned: bool | None
    peer: str | None
    who: str | None


class MemberSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one broker, under any address and role; `broker_id` and `addr` are the last ones."""

    broker_id: int
    addr: str
    cluster: str
    sessions: list[MemberSession]
    days: list[Day]


class SessionsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Uptime of the members of a group and of this NameServer."""

    broker: str
    from_ms: int
    to_ms: int
    now_ms: int
    members: list[MemberSessions]
    nameserver: list[ServerRun]
    certainty: Certainty


class BeatMinute(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeats in one minute."""

    minute_ms: int
    beats: int
    max_gap_ms: int


class MemberBeats(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeats of one address and the gaps between them."""

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


@get("/v1/brokers/{name:str}/sessions", summary="Uptime of a broker", responses=error_specs(404, 503))
async def broker_sessions(parts: PartsDep, name: NameInPath, days: Days = 7) -> SessionsAnswer:
    """Sessions with the reasons of their ends, and the availability per day (UTC)."""
    broker, now_ms = from_path(name), parts.context.now_ms()
    from_ms = now_ms - days * _DAY_MS
    answer = await query_history(parts, lambda history: history.sessions(broker, since_ms=from_ms))
    if answer is None:
        raise ApiError(404, "no broker with this name was ever registered", "/v1/brokers lists the brokers")
    found, runs, certainty = answer
    members: dict[int, list[Session]] = {}
    for session in found:
        members.setdefault(session.member, []).append(session)
    return SessionsAnswer(
        broker=broker,
        from_ms=from_ms,
        to_ms=now_ms,
        now_ms=now_ms,
        members=[
            MemberSessions(
                broker_id=sessions[-1].broker_id,
                addr=sessions[-1].addr,
                cluster=sessions[-1].cluster,
                sessions=[msgspec.convert(session, MemberSession, from_attributes=True) for session in sessions],
                days=by_day(sessions, runs, from_ms=from_ms, to_ms=now_ms),
            )
            for sessions in sorted(members.values(), key=lambda one: (one[-1].broker_id, one[-1].addr))
        ],
        nameserver=runs,
        certainty=certainty,
    )


@get("/v1/brokers/{name:str}/beats", summary="Regularity of a broker's heartbeats", responses=error_specs())
async def broker_beats(parts: PartsDep, name: NameInPath) -> BeatsAnswer:
    """Gaps between heartbeats per minute and their percentiles, in the last three hours; the lake has older ones."""
    broker, now_ms = from_path(name), parts.context.now_ms()
    parts.hub.take_in()
    members = []
    for key, beats in parts.hub.recent.beats.items():
        if beats.broker != broker:
            continue
        minutes = [BeatMinute(minute_ms=at, beats=count, max_gap_ms=gap) for at, count, gap in beats.minutes(now_ms)]
        longest = max((minute.max_gap_ms for minute in minutes), default=0)
        gaps_ms = beats.gaps(now_ms)
        members.append(
            MemberBeats(
                addr=key.addr,
                cluster=key.cluster,
                beats=sum(minute.beats for minute in minutes),
                gap_p50_ms=percentile(gaps_ms, 0.5, max_value=longest or None),
                gap_p99_ms=percentile(gaps_ms, 0.99, max_value=longest or None),
                gap_max_ms=longest,
                minutes=minutes,
            )
        )
    return BeatsAnswer(
        broker=broker, since_ms=parts.hub.recent.since_ms, members=sorted(members, key=lambda one: one.addr)
    )

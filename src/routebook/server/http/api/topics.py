"""`/v1/topics`, `/v1/search/topics`, `/v1/routes` and `/v1/misses`: topics, their routes and recent look-ups."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Final

import msgspec
from litestar import get
from litestar.params import QueryParameter

from routebook.codes import version_text
from routebook.events import LookupMinute
from routebook.history.query.answers import PastTopics, RouteTimeline
from routebook.server.http.api.parameters import (
    After,
    At,
    Limit,
    NameInPath,
    SmallLimit,
    from_path,
    parse_time,
    query_history,
)
from routebook.server.http.api.parts import PartsDep
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.http.live.hub import Hub
from routebook.server.http.live.recent_activity import LOOKUP_MINUTES
from routebook.server.http.views import answers, tables

Before = Annotated[str | None, QueryParameter(description="only versions that began at this time or earlier")]
_MINUTE_MS: Final = 60_000
_MAX_CLIENTS: Final = 100
_MAX_RECORDED: Final = 1000
_MAX_PAST: Final = 200  # topics per page: each takes several queries


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The best matches; `matches` counts all matches, `total` all topics. `past` are topics without a route now."""

    q: str
    total: int
    matches: int
    topics: list[answers.TopicSummary]
    past: list[str] = []


@get("/v1/topics", summary="Topics by name, in pages, now or at a past time", responses=error_specs(503))
async def topics(
    parts: PartsDep,
    q: Annotated[str, QueryParameter(description="only names that contain this text, ignoring case")] = "",
    broker: Annotated[str | None, QueryParameter(description="only topics with queues on this broker")] = None,
    after: After = "",
    limit: Limit = 100,
    at: At = None,
) -> answers.TopicsAnswer | PastTopics:
    if at is not None:
        at_ms = parse_time(at, parts.context.wall_ms())
        if broker is not None:
            raise ApiError(400, "broker= and at= cannot be combined", "use /v1/routes/{topic}?at= for its brokers")
        return await query_history(
            parts, lambda history: history.topics_at(at_ms, part=q, after=after, limit=min(limit, _MAX_PAST))
        )
    page = await parts.topic_names.page(after=after, limit=limit, matches=_matcher(parts.context, q, broker))
    return answers.TopicsAnswer(
        total=len(parts.context.nameserver.routes.topic_table),
        topics=_summaries(parts.context, page.names),
        next=page.names[-1] if page.more else None,
    )


@get("/v1/search/topics", summary="Topics whose name contains a text, best matches first", responses=error_specs())
async def search_topics(
    parts: PartsDep,
    q: Annotated[str, QueryParameter(description="part of the name, ignoring case")] = "",
    limit: SmallLimit = 50,
    past: Annotated[bool, QueryParameter(description="also search topics that were deleted or lost")] = False,
) -> SearchAnswer:
    found = await parts.topic_search.find(q, limit)
    recorded: list[str] = []
    if past and q and parts.context.history is not None:
        recorded = await query_history(parts, lambda history: history.topic_names(q, limit=_MAX_RECORDED))
    return SearchAnswer(
        q=q,
        total=len(parts.context.nameserver.routes.topic_table),
        matches=found.total,
        topics=_summaries(parts.context, found.names),
        past=sorted(name for name in recorded if name not in parts.context.nameserver.routes.topic_table)[:limit],
    )


@get("/v1/routes/{topic:str}", summary="A topic's route, now or at a past time", responses=error_specs(404, 503))
async def route(parts: PartsDep, topic: NameInPath, at: At = None) -> answers.RouteAnswer:
    topic = from_path(topic)
    if at is not None:
        at_ms = parse_time(at, parts.context.wall_ms())
        return tables.past_route(await query_history(parts, lambda history: history.route_at(topic, at_ms)))
    found = tables.route(parts.context.nameserver, topic)
    if found is None:
        raise ApiError(404, "no broker has this topic", "search with /v1/topics?q=; ?at= returns a past route")
    return answers.RouteAnswer(topic=topic, at_ms=parts.context.now_ms(), route=found)


@get("/v1/routes/{topic:str}/history", summary="Changes of a topic's route", responses=error_specs(503))
async def route_history(parts: PartsDep, topic: NameInPath, limit: Limit = 20, before: Before = None) -> RouteTimeline:
    """The newest versions of a route, newest first: validity, changes and cause."""
    topic, before_ms = from_path(topic), None if before is None else parse_time(before, parts.context.wall_ms())
    return await query_history(parts, lambda history: history.timeline(topic, limit=limit, before_ms=before_ms))


def _matcher(context: HttpContext, q: str, broker: str | None) -> Callable[[str], bool] | None:
    part = q.lower()
    queues = context.nameserver.routes.queues
    if broker is not None:
        return lambda name: broker in (queues(name) or ()) and part in name.lower()
    return (lambda name: part in name.lower()) if part else None


def _summaries(context: HttpContext, names: Iterable[str]) -> list[answers.TopicSummary]:
    """Summaries of the topics that still exist."""
    summaries = (tables.topic_summary(context.nameserver, name) for name in names)
    return [summary for summary in summaries if summary is not None]


class AskingClient(msgspec.Struct, frozen=True, kw_only=True):
    """A client that looks up a topic."""

    client: str
    language: str
    version: str | None
    lookups: int
    misses: int
    bytes: int
    last_minute_ms: int


class DemandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Recent look-ups of a topic, by client, most look-ups first.

    `others` counts look-ups of any topic beyond the limit on distinct topics and clients per minute.
    """

    topic: str
    since_ms: int
    to_ms: int
    lookups: int
    misses: int
    bytes: int
    clients: list[AskingClient]
    others: int


class MissedTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic with no-route look-ups."""

    topic: str
    misses: int
    lookups: int
    clients: int
    exists: bool  # now


class MissesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Topics with recent no-route look-ups, most first."""

    since_ms: int
    to_ms: int
    topics: list[MissedTopic]


@get("/v1/topics/{topic:str}/demand", summary="Clients that look up a topic", responses=error_specs())
async def demand(parts: PartsDep, topic: NameInPath) -> DemandAnswer:
    """Look-ups of the last 15 minutes, since this start at the earliest; the lake has older ones."""
    name, now_ms = from_path(topic), parts.context.now_ms()
    clients: dict[tuple[str, str, int], AskingClient] = {}
    others = 0
    for row in _lookups(parts.context, parts.hub, now_ms):
        if row.others:
            others += row.count
        if row.topic != name or row.others:
            continue
        key = (row.client, row.language, row.version)
        before = clients.get(key)
        clients[key] = AskingClient(
            client=row.client,
            language=row.language,
            version=version_text(row.version) if row.version else None,
            lookups=row.count + (before.lookups if before else 0),
            misses=row.misses + (before.misses if before else 0),
            bytes=row.bytes + (before.bytes if before else 0),
            last_minute_ms=max(row.minute_ms, before.last_minute_ms if before else 0),
        )
    ranked = sorted(clients.values(), key=lambda one: (-one.lookups, one.client))
    return DemandAnswer(
        topic=name,
        since_ms=_since_ms(parts.hub, now_ms),
        to_ms=now_ms,
        lookups=sum(one.lookups for one in ranked),
        misses=sum(one.misses for one in ranked),
        bytes=sum(one.bytes for one in ranked),
        clients=ranked[:_MAX_CLIENTS],
        others=others,
    )


@get("/v1/misses", summary="Topics with no-route look-ups", responses=error_specs())
async def misses(parts: PartsDep, limit: SmallLimit = 50) -> MissesAnswer:
    """No-route look-ups of the last 15 minutes: mistyped names, topics not created yet, brokers that are down."""
    now_ms = parts.context.now_ms()
    found: dict[str, tuple[int, int, set[str]]] = {}
    for row in _lookups(parts.context, parts.hub, now_ms):
        if row.misses and not row.others:
            missed, lookups, clients = found.get(row.topic, (0, 0, set()))
            found[row.topic] = (missed + row.misses, lookups + row.count, clients | {row.client})
    ranked = sorted(found.items(), key=lambda one: (-one[1][0], one[0]))[:limit]
    queues = parts.context.nameserver.routes.queues
    return MissesAnswer(
        since_ms=_since_ms(parts.hub, now_ms),
        to_ms=now_ms,
        topics=[
            MissedTopic(
                topic=topic, misses=missed, lookups=lookups, clients=len(clients), exists=queues(topic) is not None
            )
            for topic, (missed, lookups, clients) in ranked
        ],
    )


def _since_ms(hub: Hub, now_ms: int) -> int:
    return max(hub.recent.since_ms, now_ms - LOOKUP_MINUTES * _MINUTE_MS)


def _lookups(context: HttpContext, hub: Hub, now_ms: int) -> Iterator[LookupMinute]:
    """Look-ups of the last complete minutes and of the current one."""
    hub.take_in()
    yield from hub.recent.lookups
    minute_ms = now_ms - now_ms % _MINUTE_MS
    for key, (count, missed, size) in context.nameserver.meter.lookups.items():
        if count:
            yield LookupMinute(minute_ms=minute_ms, **key._asdict(), count=count, misses=missed, bytes=size)

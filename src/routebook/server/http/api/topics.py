"""`/v1/topics`, `/v1/search/topics` and `/v1/routes`: topics and their routes, now and in the past."""

from collections.abc import Callable, Iterable
from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from routebook.history.query.answers import RouteTimeline
from routebook.server.http.api.dependencies import ContextDep, SearchDep, ThreadsDep, TopicNamesDep
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
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.http.views import answers, tables

Before = Annotated[str | None, QueryParameter(description="only versions that began at this time or earlier")]


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The best matches; `matches` counts all matches, `total` all topics."""

    q: str
    total: int
    matches: int
    topics: list[answers.TopicSummary]


@get("/v1/topics", summary="Topics by name, in pages", responses=error_specs())
async def topics(
    context: ContextDep,
    topic_names: TopicNamesDep,
    q: Annotated[str, QueryParameter(description="only names that contain this text, ignoring case")] = "",
    broker: Annotated[str | None, QueryParameter(description="only topics with queues on this broker")] = None,
    after: After = "",
    limit: Limit = 100,
) -> answers.TopicsAnswer:
    page = await topic_names.page(after=after, limit=limit, matches=_matcher(context, q, broker))
    return answers.TopicsAnswer(
        total=len(context.nameserver.routes.topic_table),
        topics=_summaries(context, page.names),
        next=page.names[-1] if page.more else None,
    )


@get("/v1/search/topics", summary="Topics whose name contains a text, best matches first", responses=error_specs())
async def search_topics(
    context: ContextDep,
    topic_search: SearchDep,
    q: Annotated[str, QueryParameter(description="part of the name, ignoring case")] = "",
    limit: SmallLimit = 50,
) -> SearchAnswer:
    found = await topic_search.find(q, limit)
    return SearchAnswer(
        q=q,
        total=len(context.nameserver.routes.topic_table),
        matches=found.total,
        topics=_summaries(context, found.names),
    )


@get("/v1/routes/{topic:str}", summary="A topic's route, now or at a past time", responses=error_specs(404, 503))
async def route(context: ContextDep, threads: ThreadsDep, topic: NameInPath, at: At = None) -> answers.RouteAnswer:
    topic = from_path(topic)
    if at is not None:
        at_ms = parse_time(at)
        return tables.past_route(await query_history(context, threads, lambda history: history.route_at(topic, at_ms)))
    found = tables.route(context.nameserver, topic)
    if found is None:
        raise ApiError(404, "no broker has this topic", "search with /v1/topics?q=; ?at= returns a past route")
    return answers.RouteAnswer(topic=topic, at_ms=context.now_ms(), route=found)


@get("/v1/routes/{topic:str}/history", summary="Changes of a topic's route", responses=error_specs(503))
async def route_history(
    context: ContextDep, threads: ThreadsDep, topic: NameInPath, limit: Limit = 20, before: Before = None
) -> RouteTimeline:
    """The newest versions of a route, newest first: validity, changes and cause."""
    topic, before_ms = from_path(topic), None if before is None else parse_time(before)
    return await query_history(
        context, threads, lambda history: history.timeline(topic, limit=limit, before_ms=before_ms)
    )


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

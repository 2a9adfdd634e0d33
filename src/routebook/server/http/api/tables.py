"""`/v1/…`: what this NameServer knows, as JSON, to be read only."""

import asyncio
import sqlite3
from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from litestar import get
from litestar.params import PathParameter, QueryParameter

from routebook import __version__
from routebook.errors import RoutebookError
from routebook.server.http.api.dependencies import Context, Thread, Topics
from routebook.server.http.api.names import from_path
from routebook.server.http.api.times import parse_time
from routebook.server.http.context import HttpContext, Past
from routebook.server.http.errors import Refusal, documented
from routebook.server.http.views import answers
from routebook.server.http.views import tables as views
from routebook.server.observe.health import HealthReport

T = TypeVar("T")

_AT_A_TIME: Final = 4096
_MOST: Final = 1000

At = Annotated[str | None, QueryParameter(description="a past time: milliseconds since the epoch, or ISO 8601")]
After = Annotated[str, QueryParameter(description="the `next` of the page before")]
Limit = Annotated[int, QueryParameter(ge=1, le=_MOST, description="how many at most")]
InPath = Annotated[str, PathParameter(description="the name; percent-encoded, a slash too")]


@get("/v1/server", summary="This NameServer, its settings, how much it knows")
async def server(context: Context) -> answers.ServerAnswer:
    ns, now_ms = context.nameserver, context.now_ms()
    return answers.ServerAnswer(
        version=__version__,
        ns=context.ns,
        boot=context.boot,
        listen=context.listen,
        started_at_ms=ns.started_ms,
        now_ms=now_ms,
        uptime_s=(now_ms - ns.started_ms) / 1000,
        ready=not context.health.waiting_for(),
        last_seq=None if context.journal is None else context.journal.status().last_seq,
        sizes=views.sizes(ns),
        settings=views.settings(ns),
    )


@get("/v1/health", summary="How every part is")
async def health(context: Context) -> HealthReport:
    return context.health.report()


@get("/v1/clusters", summary="Clusters and their broker groups")
async def clusters(context: Context) -> answers.ClustersAnswer:
    return answers.ClustersAnswer(clusters=views.clusters(context.nameserver))


@get("/v1/brokers", summary="Broker groups, now or at a past time", responses=documented(503))
async def brokers(
    context: Context,
    threads: Thread,
    at: At = None,
    cluster: Annotated[str | None, QueryParameter(description="of this cluster only")] = None,
    after: After = "",
    limit: Limit = 500,
) -> answers.BrokersAnswer | answers.PastBrokersAnswer:
    if at is not None:
        at_ms, past = parse_time(at), _history(context)
        then = views.past_brokers(await _ask(threads, lambda: past.brokers_at(at_ms)))
        if cluster is None:
            return then
        groups = [group for group in then.groups if group.cluster == cluster]
        return answers.PastBrokersAnswer(at_ms=then.at_ms, groups=groups, certainty=then.certainty)
    routes, now_ms = context.nameserver.routes, context.now_ms()
    names = sorted(routes.group_table if cluster is None else routes.cluster_table.get(cluster, ()))
    begin = bisect_right(names, after) if after else 0
    page = names[begin : begin + limit]
    return answers.BrokersAnswer(
        at_ms=now_ms,
        total=len(names),
        groups=[views.group(context.nameserver, routes.group_table[name], now_ms) for name in page],
        next=page[-1] if len(names) > begin + limit else None,
    )


@get("/v1/brokers/{name:str}", summary="One broker group", responses=documented(404))
async def broker(context: Context, name: InPath) -> answers.BrokerAnswer:
    name = from_path(name)
    routes, now_ms = context.nameserver.routes, context.now_ms()
    found = routes.group(name)
    if found is None:
        raise Refusal(404, "there is no broker of this name now", "/v1/brokers lists those there are")
    answer = views.group(context.nameserver, found, now_ms)
    topics = 0
    entries = list(routes.topic_table.values())
    for start in range(0, len(entries), _AT_A_TIME):
        topics += sum(name in entry.queues for entry in entries[start : start + _AT_A_TIME])
        await asyncio.sleep(0)
    return answers.BrokerAnswer(at_ms=now_ms, group=answer, topics=topics)


@get("/v1/topics", summary="Topics by name, in pages", responses=documented())
async def topics(
    context: Context,
    names: Topics,
    q: Annotated[str, QueryParameter(description="only names that contain this, in any case")] = "",
    broker: Annotated[str | None, QueryParameter(description="only topics with queues on this broker")] = None,
    after: After = "",
    limit: Limit = 100,
) -> answers.TopicsAnswer:
    page = await names.page(after=after, limit=limit, wanted=_wanted(context, q, broker))
    summaries = [views.topic_summary(context.nameserver, name) for name in page.names]
    return answers.TopicsAnswer(
        total=len(context.nameserver.routes.topic_table),
        topics=[summary for summary in summaries if summary is not None],  # gone since the page was made
        next=page.names[-1] if page.more else None,
    )


@get("/v1/routes/{topic:str}", summary="A topic's route, now or at a past time", responses=documented(404, 503))
async def route(context: Context, threads: Thread, topic: InPath, at: At = None) -> answers.RouteAnswer:
    topic = from_path(topic)
    if at is not None:
        at_ms, past = parse_time(at), _history(context)
        return views.past_route(await _ask(threads, lambda: past.route_at(topic, at_ms)))
    found = views.route(context.nameserver, topic)
    if found is None:
        raise Refusal(404, "no broker has this topic now", "/v1/topics?q= searches; ?at= asks for a past time")
    return answers.RouteAnswer(topic=topic, at_ms=context.now_ms(), route=found)


@get("/v1/kv", summary="The KV configuration", responses=documented())
async def kv(
    context: Context, namespace: Annotated[str | None, QueryParameter(description="this namespace only")] = None
) -> answers.KvAnswer:
    tables = context.nameserver.kv.namespaces()
    return answers.KvAnswer(
        namespaces={name: dict(table) for name, table in tables.items() if namespace in (None, name)}
    )


def _wanted(context: HttpContext, q: str, broker: str | None) -> Callable[[str], bool] | None:
    part = q.lower()
    queues = context.nameserver.routes.queues
    if broker is not None:
        return lambda name: broker in (queues(name) or ()) and part in name.lower()
    return (lambda name: part in name.lower()) if part else None


def _history(context: HttpContext) -> Past:
    if context.history is None:
        raise Refusal(
            503, "there is no history of routes here", "it needs the journal; /v1/health says whether it is on"
        )
    return context.history


async def _ask(threads: Thread, question: Callable[[], T]) -> T:
    try:
        return await threads.run(question)
    except (RoutebookError, OSError, sqlite3.Error) as problem:
        raise Refusal(503, f"history cannot be read: {problem}", "/v1/health says more") from None

"""`/v1/…/history`: when a route or a broker changed, and why."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from litestar import get
from litestar.params import QueryParameter

from routebook.errors import RoutebookError
from routebook.history.query.answers import BrokerTimeline, RouteTimeline
from routebook.history.query.history import History
from routebook.server.http.api.dependencies import Context, Thread
from routebook.server.http.api.names import from_path
from routebook.server.http.api.tables import InPath
from routebook.server.http.api.times import parse_time
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal, documented
from routebook.server.http.threads import Threads

T = TypeVar("T")

Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="how many versions at most")]
Before = Annotated[str | None, QueryParameter(description="only versions that began not later than this time")]


@get("/v1/routes/{topic:str}/history", summary="When a topic's route changed", responses=documented(400, 503))
async def route_history(
    context: Context, threads: Thread, topic: InPath, limit: Limit = 20, before: Before = None
) -> RouteTimeline:
    """The newest versions of a route, newest first: from when to when it was so, what changed, and why."""
    history, name = history_of(context), from_path(topic)
    before_ms = None if before is None else parse_time(before)
    return await asked_of(threads, lambda: history.timeline(name, limit=limit, before_ms=before_ms))


@get("/v1/brokers/{name:str}/history", summary="When a broker group changed", responses=documented(400, 503))
async def broker_history(context: Context, threads: Thread, name: InPath, limit: Limit = 20) -> BrokerTimeline:
    """The newest versions of a broker group, newest first; one without addresses says that it was gone."""
    history, broker = history_of(context), from_path(name)
    return await asked_of(threads, lambda: history.broker_timeline(broker, limit=limit))


def history_of(context: HttpContext) -> History:
    """The history, if there is one. Raises Refusal."""
    if not isinstance(context.history, History):
        raise Refusal(503, "the past is not known here", "it is with routebook.journal.enabled=true")
    return context.history


async def asked_of(threads: Threads, question: Callable[[], T]) -> T:
    """Its answer, got on a thread. Raises Refusal."""
    try:
        return await threads.run(question)
    except RoutebookError as problem:
        raise Refusal(503, str(problem), "ask again in a moment; /v1/health says how the history is") from problem

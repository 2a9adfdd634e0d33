"""Path and query parameters that endpoints share, and the queries to history that they lead to."""

import sqlite3
from collections.abc import Callable
from difflib import get_close_matches
from typing import Annotated, TypeVar
from urllib.parse import unquote, unquote_to_bytes

from litestar.params import PathParameter, QueryParameter

from routebook import times
from routebook.errors import RoutebookError
from routebook.handlers import NameServer
from routebook.history.query.history import History
from routebook.journal.read.select import Selection
from routebook.journal.record import KINDS
from routebook.routes.state import BrokerGroup
from routebook.server.http.api.parts import Parts
from routebook.server.http.errors import ApiError

T = TypeVar("T")

NameInPath = Annotated[str, PathParameter(description="a name; percent-encoded, slashes too")]
At = Annotated[
    str | None,
    QueryParameter(
        description="a past time: ms since the epoch, ISO 8601, `03:12`, `yesterday 03:12` or `10m ago` (UTC)"
    ),
]
After = Annotated[str, QueryParameter(description="`next` of the previous page")]
Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="maximum number of results")]
SmallLimit = Annotated[int, QueryParameter(ge=1, le=500, description="maximum number of results")]
Days = Annotated[int, QueryParameter(ge=1, le=366, description="number of days")]
Names = Annotated[list[str] | None, QueryParameter(description="repeatable; a record must match one of them")]
OnlyCluster = Annotated[str | None, QueryParameter(description="only this cluster")]


def from_path(encoded: str) -> str:
    """Decode one part of a path; it may contain a lone surrogate, which Java accepts in names."""
    try:
        return unquote_to_bytes(encoded).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return unquote(encoded)


def parse_time(text: str, now_ms: int) -> int:
    """Return milliseconds since the epoch. Raises ApiError."""
    try:
        return times.parse_time(text, now_ms)
    except ValueError as error:
        raise ApiError(400, f"at={text[:100]} is {error}", times.TIME_HINT) from None


def parse_selection(*, kinds: list[str] | None, brokers: list[str] | None, topics: list[str] | None) -> Selection:
    """The records that a client selects. Raises ApiError for an unknown kind."""
    for kind in kinds or ():
        if kind not in KINDS:
            near = get_close_matches(kind[:100], KINDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the kinds are {', '.join(sorted(KINDS))}"
            raise ApiError(400, f"kind={kind[:100]} is not a kind of event", hint)
    return Selection(kinds=frozenset(kinds or ()), brokers=frozenset(brokers or ()), topics=frozenset(topics or ()))


def find_group(ns: NameServer, broker: str) -> BrokerGroup:
    """A registered broker group. Raises ApiError."""
    group = ns.routes.group(broker)
    if group is None:
        raise ApiError(404, "no broker with this name is registered", "/v1/brokers lists the brokers")
    return group


async def query_history(parts: Parts, query: Callable[[History], T]) -> T:
    """Run a query of the history on a thread. Raises ApiError."""
    history = parts.context.history
    if history is None:
        raise ApiError(503, "this server has no history", "it needs the journal: routebook.journal.enabled=true")
    try:
        return await parts.threads.run(lambda: query(history))
    except (RoutebookError, OSError, sqlite3.Error) as problem:
        hint = "retry in a few seconds; /v1/health shows the state of the history"
        raise ApiError(503, f"cannot read the history: {problem}", hint) from problem

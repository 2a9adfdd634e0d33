"""`/v1/compare`: this NameServer and another one, wherever it is; see docs/http.md for who may have whom asked.

The server opens a connection on behalf of a browser, so it does that for pages of its own alone, to addresses that the
settings allow, a few at a time, and speaks nothing but RocketMQ there.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import Request, get, post
from litestar.params import JSONBody

from routebook.access.classes import Access
from routebook.disagreements import Disagreement, View, disagreements
from routebook.errors import ConnectionFailed, RequestError, RoutebookError, TopicNotExist, UsageError
from routebook.model import ClusterInfo, RoutePolicy, TopicRoute
from routebook.server.http.api.dependencies import Context, Thread
from routebook.server.http.auth.callers import Caller, caller_of, check_page
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal, documented

if TYPE_CHECKING:
    from routebook.client.addresses import Address
    from routebook.client.client import NameServerClient

HERE: Final = "here"
_MOST_TOPICS: Final = 1000
_MOST_SHOWN: Final = 500
_MOST_NAMED: Final = 100  # topics of one difference
_AT_ONCE: Final = 16
_AT_A_TIME: Final = 20  # own routes between which others get their turn
_CALL_S: Final = 5.0
_ALL_S: Final = 30.0
_MOST_COMPARISONS: Final = 2
_PLAIN: Final = RoutePolicy()


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """HOST:PORT of a NameServer, Java's or a Routebook."""

    address: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """How much was looked at."""

    brokers: int
    topics: int


class CompareAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What differs; `complete` is false if not all topics that both have were looked at."""

    address: str
    at_ms: int
    took_ms: int
    agree: bool
    compared: Compared
    complete: bool
    differences: list[Disagreement]
    total: int


class CompareAllowed(msgspec.Struct, frozen=True, kw_only=True):
    """With whom one may compare: `peers` alone, or `any` address; and why."""

    allowed: str
    peers: list[str]
    why: str


@get("/v1/compare", summary="With which NameServers this one may be compared")
async def compare_allowed(request: Request[Any, Any, Any], context: Context) -> CompareAllowed:
    allowed, why = _allowed(context, caller_of(request))
    return CompareAllowed(allowed="any" if allowed else "peers", peers=list(context.nameserver.settings.peers), why=why)


@post(
    "/v1/compare",
    status_code=200,
    summary="What this NameServer and another one disagree about",
    responses=documented(403, 413, 415, 429, 502),
)
async def compare(
    request: Request[Any, Any, Any], context: Context, threads: Thread, data: JSONBody[CompareRequest]
) -> CompareAnswer:
    """Asks the other one for its brokers, its topics, and the routes of up to a thousand of them."""
    check_page(request)
    address = _address(context, caller_of(request), data.address)
    if context.comparisons >= _MOST_COMPARISONS:
        raise Refusal(429, "other comparisons are under way", "try again in a moment", code="busy", retry_after_s=5)
    context.comparisons += 1
    try:
        async with asyncio.timeout(_ALL_S):
            return await _compare(context, threads, address)
    except TimeoutError:
        raise Refusal(502, f"{address} takes too long to answer", "try again later", code="unreachable") from None
    except ConnectionFailed as problem:
        raise Refusal(502, str(problem), "is it a NameServer, and does it listen?", code="unreachable") from None
    except RoutebookError as problem:
        raise Refusal(
            502, f"{address} answers otherwise than a NameServer: {problem}", "is it one?", code="unreachable"
        ) from None
    finally:
        context.comparisons -= 1


async def _compare(context: HttpContext, threads: Thread, address: "Address") -> CompareAnswer:
    from routebook.client.client import NameServerClient  # noqa: PLC0415  for who needs it

    began, who = time.monotonic(), str(address)
    routes = context.nameserver.routes
    async with NameServerClient(address, timeout_s=_CALL_S, connect_timeout_s=_CALL_S) as client:
        info = await client.cluster_info()
        there = set(await _topics(client, info))
        one_sided = sorted(there ^ routes.topic_table.keys())
        common = sorted(there & routes.topic_table.keys())
        chosen = [*one_sided, *common][:_MOST_TOPICS]
        theirs = await _routes(client, [topic for topic in chosen if topic in there])
    ours: dict[str, TopicRoute] = {}
    for number, topic in enumerate(chosen, 1):
        route = routes.route(topic, _PLAIN)
        if route is not None:
            ours[topic] = route
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    mine = View(who=HERE, info=routes.cluster_info(), routes=ours)
    other = View(who=who, info=info, routes=_unordered(theirs))
    found = await threads.run(lambda: disagreements([mine, other]))
    brokers = mine.info.broker_addr_table.keys() | info.broker_addr_table.keys()
    return CompareAnswer(
        address=who,
        at_ms=context.now_ms(),
        took_ms=int((time.monotonic() - began) * 1000),
        agree=not found,
        compared=Compared(brokers=len(brokers), topics=len(chosen)),
        complete=len(chosen) == len(one_sided) + len(common),
        differences=[msgspec.structs.replace(one, topics=one.topics[:_MOST_NAMED]) for one in found[:_MOST_SHOWN]],
        total=len(found),
    )


async def _topics(client: "NameServerClient", info: ClusterInfo) -> list[str]:
    try:
        return await client.topics()
    except RequestError:  # Java: enableAllTopicList=false
        lists = [await client.topics_of_cluster(cluster) for cluster in info.cluster_addr_table]
        return [topic for names in lists for topic in names]


async def _routes(client: "NameServerClient", topics: list[str]) -> dict[str, TopicRoute]:
    found: dict[str, TopicRoute] = {}
    left = iter(topics)

    async def work() -> None:
        for topic in left:
            try:
                found[topic] = await client.route(topic)
            except TopicNotExist:  # gone meanwhile
                continue

    workers = [asyncio.create_task(work()) for _ in range(min(_AT_ONCE, len(topics)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return found


def _unordered(routes: dict[str, TopicRoute]) -> dict[str, TopicRoute]:
    """Without the order configuration, which is no part of the tables."""
    return {topic: msgspec.structs.replace(route, order_topic_conf=None) for topic, route in routes.items()}


def _address(context: HttpContext, caller: Caller, text: str) -> "Address":
    from routebook.client.addresses import parse_address  # noqa: PLC0415  for who needs it

    try:
        address = parse_address(text.strip())
    except UsageError as problem:
        raise Refusal(400, str(problem), "write HOST:PORT, as in 10.0.0.2:9876", code="no-address") from None
    known = {parse_address(peer.partition("/")[0]) for peer in context.nameserver.settings.peers}
    allowed, why = _allowed(context, caller)
    if address not in known and not allowed:
        raise Refusal(
            403, f"this server may not be made to ask {address}: {why}", "routebook.console.compare", code="not-allowed"
        )
    return address


def _allowed(context: HttpContext, caller: Caller) -> tuple[bool, str]:
    """Whether any address may be asked for, and why."""
    settings = context.nameserver.settings
    if settings.console.compare == "any":
        return True, "routebook.console.compare=any lets everybody choose an address"
    if settings.console.compare == "peers":
        return False, "routebook.console.compare=peers lets nobody choose another address"
    if context.access is not None:
        if caller.identity is not None and caller.identity.may(Access.ADMIN_WRITE):
            return True, "an administrator may choose any address"
        return False, "only an administrator may choose an address that is not in routebook.peers"
    if settings.serves_http_publicly:
        return False, "HTTP is served to other machines without authentication: only those in routebook.peers"
    return True, "HTTP is served to this machine only"

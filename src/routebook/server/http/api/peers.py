"""`/v1/peers`, `/v1/digest` and `/v1/compare`: comparison with other NameServers, continuously or once.

For `/v1/compare` the server connects on behalf of a browser. So it accepts such requests only from its own pages, for
addresses that the settings allow (docs/http.md), a few at a time, and speaks only the RocketMQ protocol.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from litestar import Request, get, post
from litestar.params import JSONBody, PathParameter

from routebook.access.classes import Access
from routebook.disagreements import Disagreement, View, disagreements, without_order_config
from routebook.errors import ConnectionFailed, RoutebookError, UsageError
from routebook.journal.chain import ChainHead
from routebook.model import RoutePolicy, TopicRoute
from routebook.peers.digest import BUCKETS, BucketDigest, Digest
from routebook.peers.divergence import differences_of
from routebook.peers.monitor import PeerStatus
from routebook.server.http.api.parts import ContextDep, PartsDep
from routebook.server.http.auth.authenticate import Caller, caller_of, check_page
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.http.thread_pool import ThreadPool
from routebook.server.http.views.topic_names import slices

if TYPE_CHECKING:
    from routebook.client.addresses import Address


Buckets = Annotated[str, PathParameter(description=f"numbers below {BUCKETS}, separated by commas")]
HERE: Final = "here"
_MAX_DIGITS: Final = 3  # of a bucket
_MAX_TOPICS: Final = 10_000
_MAX_SHOWN: Final = 500
_MAX_NAMED: Final = 100  # topics per difference
_MAX_REQUESTS: Final = 16  # at a time
_SLICE: Final = 20  # own routes between two yields to the event loop
_CALL_TIMEOUT_S: Final = 5.0
_TIMEOUT_S: Final = 30.0
_MAX_COMPARISONS: Final = 2
_DEFAULT_POLICY: Final = RoutePolicy()


class PeersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry per peer."""

    peers: list[PeerStatus]


@get("/v1/peers", summary="Differences between this NameServer and its peers", responses=error_specs(503))
async def peers(context: ContextDep) -> PeersAnswer:
    if context.peers is None:
        raise ApiError(503, "no peers are configured", "set routebook.peers=HOST:PORT,…")
    return PeersAnswer(peers=context.peers.report())


@get("/v1/digest", summary="Digest of the route tables")
async def digest(parts: PartsDep) -> Digest:
    """Two NameServers with the same groups and buckets have the same brokers and routes."""
    found = await parts.digests.digest()
    context = parts.context
    heads = {} if context.journal is None else context.journal.heads()
    chains = [ChainHead(ns=context.ns, stream=stream, seq=seq, head=head) for stream, (seq, head) in heads.items()]
    return msgspec.structs.replace(found, chains=tuple(chains))


@get("/v1/digest/{buckets:str}", summary="Digests of the topics in some buckets", responses=error_specs(404))
async def bucket_digest(parts: PartsDep, buckets: Buckets) -> BucketDigest:
    """Shows in which topics two NameServers differ whose digests differ in these buckets."""
    numbers = buckets.split(",")[: BUCKETS + 1]
    is_valid = all(number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS for number in numbers)
    found = await parts.digests.buckets({int(number) for number in numbers}) if is_valid else None
    if found is None:
        raise ApiError(404, "bucket not found", f"the buckets are 0 to {BUCKETS - 1}")
    return found


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """HOST:PORT of a NameServer, Java or Routebook."""

    address: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Number of compared brokers and topics."""

    brokers: int
    topics: int


class CompareAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The differences; `complete` is false if there were too many topics to compare all."""

    address: str
    at_ms: int
    took_ms: int
    agree: bool
    compared: Compared
    complete: bool
    differences: list[Disagreement]
    total: int  # number of differences, each topic of a broker counted
    groups: int  # number of groups of equal differences


class CompareAllowed(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses that may be compared: `peers` only, or `any`; and why."""

    allowed: str
    peers: list[str]
    why: str


@get("/v1/compare", summary="NameServers that may be compared with this one")
async def compare_allowed(request: Request[Any, Any, Any], context: ContextDep) -> CompareAllowed:
    allowed, why = _allowed(context, caller_of(request))
    return CompareAllowed(allowed="any" if allowed else "peers", peers=list(context.nameserver.settings.peers), why=why)


@post(
    "/v1/compare",
    status_code=200,
    summary="Differences between this NameServer and another one",
    responses=error_specs(403, 413, 415, 429, 502),
)
async def compare(request: Request[Any, Any, Any], parts: PartsDep, data: JSONBody[CompareRequest]) -> CompareAnswer:
    """Requests the brokers and topics of the other NameServer, and the routes of up to 10,000 topics."""
    check_page(request)
    address = _address(parts.context, caller_of(request), data.address)
    if parts.context.comparisons >= _MAX_COMPARISONS:
        raise ApiError(429, "other comparisons are in progress", "retry in a few seconds", code="busy", retry_after_s=5)
    parts.context.comparisons += 1
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await _compare(parts.context, parts.threads, address)
    except TimeoutError:
        raise ApiError(502, f"{address} did not respond in time", "retry later", code="unreachable") from None
    except ConnectionFailed as problem:
        raise ApiError(502, str(problem), "check the address", code="unreachable") from None
    except RoutebookError as problem:
        why = f"{address} does not respond like a NameServer: {problem}"
        raise ApiError(502, why, "check the address", code="unreachable") from None
    finally:
        parts.context.comparisons -= 1


async def _compare(context: HttpContext, threads: ThreadPool, address: "Address") -> CompareAnswer:
    from routebook.client.bulk import fetch_routes, fetch_topics  # noqa: PLC0415  loaded on first use
    from routebook.client.client import NameServerClient  # noqa: PLC0415

    began, who = time.monotonic(), str(address)
    routes = context.nameserver.routes
    async with NameServerClient(address, timeout_s=_CALL_TIMEOUT_S, connect_timeout_s=_CALL_TIMEOUT_S) as client:
        info = await client.cluster_info()
        there = set(await fetch_topics(client, info))
        one_sided = sorted(there ^ routes.topic_table.keys())
        common = sorted(there & routes.topic_table.keys())
        chosen = [*one_sided, *common][:_MAX_TOPICS]
        theirs = await fetch_routes(client, [topic for topic in chosen if topic in there], limit=_MAX_REQUESTS)
    ours: dict[str, TopicRoute] = {}
    async for part in slices(chosen, size=_SLICE):
        ours.update((topic, route) for topic in part if (route := routes.route(topic, _DEFAULT_POLICY)) is not None)
    mine = View(who=HERE, info=routes.cluster_info(), routes=ours)
    other = View(who=who, info=info, routes=without_order_config(theirs))
    found = await threads.run(lambda: disagreements([mine, other]))
    brokers = mine.info.broker_addr_table.keys() | info.broker_addr_table.keys()
    return CompareAnswer(
        address=who,
        at_ms=context.now_ms(),
        took_ms=int((time.monotonic() - began) * 1000),
        agree=not found,
        compared=Compared(brokers=len(brokers), topics=len(chosen)),
        complete=len(chosen) == len(one_sided) + len(common),
        differences=[msgspec.structs.replace(one, topics=one.topics[:_MAX_NAMED]) for one in found[:_MAX_SHOWN]],
        total=len(differences_of(found)),
        groups=len(found),
    )


def _address(context: HttpContext, caller: Caller, text: str) -> "Address":
    from routebook.client.addresses import parse_address  # noqa: PLC0415  loaded on first use

    try:
        address = parse_address(text.strip())
    except UsageError as problem:
        raise ApiError(400, str(problem), "write HOST:PORT, as in 10.0.0.2:9876", code="no-address") from None
    known = {parse_address(peer.partition("/")[0]) for peer in context.nameserver.settings.peers}
    allowed, why = _allowed(context, caller)
    if address not in known and not allowed:
        error = f"comparison with {address} is not allowed: {why}"
        raise ApiError(403, error, "see routebook.console.compare", code="not-allowed")
    return address


def _allowed(context: HttpContext, caller: Caller) -> tuple[bool, str]:
    """Whether any address is allowed, and why."""
    settings = context.nameserver.settings
    if settings.console.compare == "any":
        return True, "routebook.console.compare=any allows every address"
    if settings.console.compare == "peers":
        return False, "routebook.console.compare=peers allows only the configured peers"
    if context.access is not None:
        if caller.identity is not None and caller.identity.may(Access.ADMIN_WRITE):
            return True, "administrators may compare with any address"
        return False, "only administrators may compare with addresses outside routebook.peers"
    if settings.serves_http_publicly:
        return False, "HTTP is public and authentication is off, so only routebook.peers are allowed"
    return True, "HTTP is reachable from this machine only"

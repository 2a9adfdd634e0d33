"""A look at whole NameServers, all at once: what `diff` and `doctor` compare."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from routebook.cli.concurrency import Waiting, all_routes, gather
from routebook.cli.nameservers import Connecting
from routebook.client.addresses import Address, parse_address
from routebook.client.bulk import fetch_topics
from routebook.client.client import NameServerClient
from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.disagreements import View
from routebook.errors import NotFound, RequestError, RoutebookError, UsageError
from routebook.model import ClusterInfo


class Look(msgspec.Struct, frozen=True):
    """What was seen: a view of each that answers, why the others do not, and what could not be looked at."""

    views: list[View]
    failures: dict[str, RoutebookError]
    notes: list[str]


async def look(
    addresses: Sequence[Address], connecting: Connecting, *, namespaces: Iterable[str] = (), waiting: Waiting
) -> Look:
    """Read everything from all of them. Topics are those that any of them knows."""
    clients = {str(address): connecting.client_of((address,)) for address in addresses}
    notes: list[str] = []
    failures: dict[str, RoutebookError] = {}
    try:
        first = await asyncio.gather(*(_overview(client) for client in clients.values()), return_exceptions=True)
        overviews: dict[str, tuple[ClusterInfo, list[str]]] = {}
        for who, seen in zip(clients, first, strict=True):
            if isinstance(seen, RoutebookError):
                failures[who] = seen
            elif isinstance(seen, BaseException):
                raise seen
            else:
                overviews[who] = seen
        topics = sorted({topic for _, names in overviews.values() for topic in names})
        wanted = dict.fromkeys((ORDER_TOPIC_NAMESPACE, *namespaces))
        second = await asyncio.gather(
            *(_view(who, clients[who], info, topics, wanted, notes, waiting) for who, (info, _) in overviews.items()),
            return_exceptions=True,
        )
    finally:
        await asyncio.gather(*(client.aclose() for client in clients.values()))
    views: list[View] = []
    for who, view in zip(overviews, second, strict=True):
        if isinstance(view, RoutebookError):
            failures[who] = view
        elif isinstance(view, BaseException):
            raise view
        else:
            views.append(view)
    return Look(views, {who: failures[who] for who in clients if who in failures}, notes)


async def takes_connections(addrs: Iterable[str], *, timeout_s: float) -> dict[str, str | None]:
    """Which of these addresses take a TCP connection: None, or why not."""

    async def one(addr: str) -> str | None:
        try:
            address = parse_address(addr)
        except UsageError:
            return "is no address"
        try:
            async with asyncio.timeout(timeout_s):
                _, writer = await asyncio.open_connection(address.host, address.port)
        except TimeoutError:
            return f"takes no connection within {timeout_s:g} s"
        except OSError as error:
            return "refuses connections" if isinstance(error, ConnectionRefusedError) else _plainly(error)
        writer.transport.abort()
        return None

    with Waiting("brokers") as waiting:
        return await gather(dict.fromkeys(addrs), one, waiting=waiting, at_once=64)


def _plainly(error: OSError) -> str:
    return f"cannot be reached: {error.strerror or error}"


async def _overview(client: NameServerClient) -> tuple[ClusterInfo, list[str]]:
    info = await client.cluster_info()
    return info, await fetch_topics(client, info)


async def _view(
    who: str,
    client: NameServerClient,
    info: ClusterInfo,
    topics: Iterable[str],
    namespaces: Iterable[str],
    notes: list[str],
    waiting: Waiting,
) -> View:
    kv: dict[str, dict[str, str]] = {}
    for namespace in namespaces:
        try:
            kv[namespace] = await client.list_kv(namespace)
        except NotFound:
            kv[namespace] = {}
    try:
        settings: dict[str, str] | None = await client.settings()
    except RequestError as error:
        notes.append(f"{who} does not show its settings: {error}")
        settings = None
    routes = await all_routes(client, topics, waiting=waiting)
    return View(who=who, info=info, routes=routes, kv=kv, settings=settings)

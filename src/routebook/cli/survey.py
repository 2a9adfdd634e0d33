"""Reads the complete state of several NameServers at once, for `diff` and `doctor`."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from routebook.cli.concurrency import ProgressBar, all_routes
from routebook.cli.nameservers import ConnectionOptions
from routebook.client.addresses import Address
from routebook.client.bulk import fetch_topics
from routebook.client.client import NameServerClient
from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.disagreements import View
from routebook.errors import NotFound, RequestError, RoutebookError
from routebook.model import ClusterInfo

T = TypeVar("T")


class Survey(msgspec.Struct, frozen=True):
    """A view of each NameServer that responds, why the others failed, and what could not be read."""

    views: list[View]
    failures: dict[str, RoutebookError]
    notes: list[str]


async def survey(
    addresses: Sequence[Address],
    connection: ConnectionOptions,
    *,
    namespaces: Iterable[str] = (),
    progress: ProgressBar,
) -> Survey:
    """Read everything from all NameServers. The topics are those that any of them has."""
    clients = {str(address): connection.client_of((address,)) for address in addresses}
    notes: list[str] = []
    failures: dict[str, RoutebookError] = {}
    try:
        overviews = await _gather({who: _overview(client) for who, client in clients.items()}, failures)
        topics = sorted({topic for _, names in overviews.values() for topic in names})
        wanted = dict.fromkeys((ORDER_TOPIC_NAMESPACE, *namespaces))
        reads = {
            who: _view(who, clients[who], info, topics, wanted, notes, progress) for who, (info, _) in overviews.items()
        }
        views = await _gather(reads, failures)
    finally:
        await asyncio.gather(*(client.aclose() for client in clients.values()))
    return Survey([*views.values()], {who: failures[who] for who in clients if who in failures}, notes)


async def _gather(work: Mapping[str, Coroutine[Any, Any, T]], failures: dict[str, RoutebookError]) -> dict[str, T]:
    """Run all at once; a RoutebookError goes to `failures`."""
    found: dict[str, T] = {}
    for who, result in zip(work, await asyncio.gather(*work.values(), return_exceptions=True), strict=True):
        if isinstance(result, RoutebookError):
            failures[who] = result
        elif isinstance(result, BaseException):
            raise result
        else:
            found[who] = result
    return found


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
    progress: ProgressBar,
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
    routes = await all_routes(client, topics, progress=progress)
    return View(who=who, info=info, routes=routes, kv=kv, settings=settings)

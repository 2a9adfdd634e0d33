"""`/v1/topics/{topic}/demand` and `/v1/misses`: route look-ups of the last 15 minutes."""

from collections.abc import Iterator
from typing import Final

import msgspec
from litestar import get

from routebook.codes import version_text
from routebook.events import LookupMinute
from routebook.server.http.api.dependencies import ContextDep, HubDep
from routebook.server.http.api.parameters import NameInPath, SmallLimit, from_path
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import error_specs
from routebook.server.http.live.hub import Hub
from routebook.server.http.live.recent_activity import LOOKUP_MINUTES

_MINUTE_MS: Final = 60_000
_MAX_CLIENTS: Final = 100


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
async def demand(context: ContextDep, hub: HubDep, topic: NameInPath) -> DemandAnswer:
    """Look-ups of the last 15 minutes, since this start at the earliest; the lake has older ones."""
    name, now_ms = from_path(topic), context.now_ms()
    clients: dict[tuple[str, str, int], AskingClient] = {}
    others = 0
    for row in _lookups(context, hub, now_ms):
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
        since_ms=_since_ms(hub, now_ms),
        to_ms=now_ms,
        lookups=sum(one.lookups for one in ranked),
        misses=sum(one.misses for one in ranked),
        bytes=sum(one.bytes for one in ranked),
        clients=ranked[:_MAX_CLIENTS],
        others=others,
    )


@get("/v1/misses", summary="Topics with no-route look-ups", responses=error_specs())
async def misses(context: ContextDep, hub: HubDep, limit: SmallLimit = 50) -> MissesAnswer:
    """No-route look-ups of the last 15 minutes: mistyped names, topics not created yet, brokers that are down."""
    now_ms = context.now_ms()
    found: dict[str, tuple[int, int, set[str]]] = {}
    for row in _lookups(context, hub, now_ms):
        if row.misses and not row.others:
            missed, lookups, clients = found.get(row.topic, (0, 0, set()))
            found[row.topic] = (missed + row.misses, lookups + row.count, clients | {row.client})
    ranked = sorted(found.items(), key=lambda one: (-one[1][0], one[0]))[:limit]
    queues = context.nameserver.routes.queues
    return MissesAnswer(
        since_ms=_since_ms(hub, now_ms),
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

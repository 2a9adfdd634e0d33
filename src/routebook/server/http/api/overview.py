"""`/v1/overview` and what else pages show of now and of the last day: the strip, the search, look-ups, settings."""

from collections.abc import Iterator
from typing import Annotated, Final

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter, SkipValidation

from routebook.codes import version_text
from routebook.events import LookupMinute
from routebook.history.query.activity import ActivityPoint
from routebook.history.query.answers import Certainty
from routebook.server.http.api.dependencies import Context, Thread
from routebook.server.http.api.names import from_path
from routebook.server.http.api.tables import InPath
from routebook.server.http.api.timelines import asked_of, history_of
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import documented
from routebook.server.http.live.hub import Hub
from routebook.server.http.live.overview import Overview
from routebook.server.http.live.recent import LOOKUP_MINUTES
from routebook.server.http.views import answers
from routebook.server.http.views import tables as views
from routebook.server.http.views.topic_search import TopicSearch
from routebook.settings.table import SETTINGS, Group, How, show

Live = NamedDependency[SkipValidation[Hub]]
Search = NamedDependency[SkipValidation[TopicSearch]]

_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
_MOST_CLIENTS: Final = 100
_WHEN: Final = {How.RUNTIME: "at run time", How.RESTART: "at start", How.FIXED: "at start", How.UNUSED: "never"}


class StripAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The last hours in equal steps, oldest first."""

    from_ms: int
    to_ms: int
    step_ms: int
    points: list[ActivityPoint]
    certainty: Certainty


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The best matches; `matches` counts all of them, `total` all topics."""

    q: str
    total: int
    matches: int
    topics: list[answers.TopicSummary]


class AskingClient(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for a topic."""

    client: str
    language: str
    version: str | None
    lookups: int
    misses: int
    bytes: int
    last_minute_ms: int


class DemandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Look-ups of a topic in the last minutes, the clients that ask most first.

    `others` counts look-ups, of whatever topic, that came when a minute had its fill of distinct pairs.
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
    """A topic that was asked for in vain."""

    topic: str
    misses: int
    lookups: int
    clients: int
    exists: bool  # now


class MissesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Topics that were asked for in vain in the last minutes, most first."""

    since_ms: int
    to_ms: int
    topics: list[MissedTopic]


class ShownSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that is not secret."""

    key: str
    value: str
    default: str
    group: str
    changes: str  # at run time, at start, never
    values: str  # which it takes
    note: str
    origin: str | None  # where its value is from; null: it is the default


class SettingsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    settings: list[ShownSetting]


@get("/v1/overview", summary="This NameServer at a glance")
async def overview(context: Context, hub: Live) -> Overview:
    await hub.prime()
    return hub.look(context.now_ms())


@get("/v1/strip", summary="The last hours, step by step", responses=documented(503))
async def strip(
    context: Context,
    threads: Thread,
    hours: Annotated[int, QueryParameter(ge=1, le=24 * 31, description="how far back")] = 24,
    steps: Annotated[int, QueryParameter(ge=1, le=1000, description="how many steps")] = 288,
) -> StripAnswer:
    """How many brokers there were at the end of each step, how many came and left, how much changed."""
    history, now_ms = history_of(context), context.now_ms()
    step_ms = max(1, hours * _HOUR_MS // steps)
    from_ms = now_ms - step_ms * steps
    points, certainty = await asked_of(threads, lambda: history.activity(from_ms=from_ms, step_ms=step_ms, steps=steps))
    return StripAnswer(from_ms=from_ms, to_ms=now_ms, step_ms=step_ms, points=points, certainty=certainty)


@get("/v1/search/topics", summary="Topics by a part of their name, the best matches first", responses=documented())
async def search_topics(
    context: Context,
    search: Search,
    q: Annotated[str, QueryParameter(description="a part of the name, in any case")] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="how many at most")] = 50,
) -> SearchAnswer:
    found = await search.find(q, limit)
    summaries = [views.topic_summary(context.nameserver, name) for name in found.names]
    return SearchAnswer(
        q=q,
        total=len(context.nameserver.routes.topic_table),
        matches=found.total,
        topics=[summary for summary in summaries if summary is not None],
    )


@get("/v1/topics/{topic:str}/demand", summary="Who asks for a topic", responses=documented())
async def demand(context: Context, hub: Live, topic: InPath) -> DemandAnswer:
    """Look-ups of the last quarter of an hour, of this start only: the lake has them all."""
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
        since_ms=_since(hub, now_ms),
        to_ms=now_ms,
        lookups=sum(one.lookups for one in ranked),
        misses=sum(one.misses for one in ranked),
        bytes=sum(one.bytes for one in ranked),
        clients=ranked[:_MOST_CLIENTS],
        others=others,
    )


@get("/v1/misses", summary="Topics that were asked for in vain", responses=documented())
async def misses(
    context: Context,
    hub: Live,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="how many at most")] = 50,
) -> MissesAnswer:
    """Of the last quarter of an hour: mistyped names, topics that nobody has made, brokers that are gone."""
    now_ms = context.now_ms()
    found: dict[str, tuple[int, int, set[str]]] = {}
    for row in _lookups(context, hub, now_ms):
        if row.misses and not row.others:
            missed, asked, clients = found.get(row.topic, (0, 0, set()))
            found[row.topic] = (missed + row.misses, asked + row.count, clients | {row.client})
    ranked = sorted(found.items(), key=lambda one: (-one[1][0], one[0]))[:limit]
    routes = context.nameserver.routes
    return MissesAnswer(
        since_ms=_since(hub, now_ms),
        to_ms=now_ms,
        topics=[
            MissedTopic(
                topic=topic, misses=missed, lookups=asked, clients=len(clients), exists=routes.queues(topic) is not None
            )
            for topic, (missed, asked, clients) in ranked
        ],
    )


@get("/v1/settings", summary="Every setting that is not secret, and where its value is from")
async def settings(context: Context) -> SettingsAnswer:
    current = context.nameserver.settings
    return SettingsAnswer(
        settings=[
            ShownSetting(
                key=setting.key,
                value=show(current.values[setting.key]),
                default=show(setting.default),
                group="Routebook" if setting.group is Group.ROUTEBOOK else setting.group.value,
                changes=_WHEN[setting.how],
                values=setting.type.says,
                note=setting.note,
                origin=current.origins.get(setting.key),
            )
            for setting in SETTINGS
            if not setting.secret
        ]
    )


def _since(hub: Hub, now_ms: int) -> int:
    return max(hub.recent.since_ms, now_ms - LOOKUP_MINUTES * _MINUTE_MS)


def _lookups(context: HttpContext, hub: Hub, now_ms: int) -> Iterator[LookupMinute]:
    """The last minutes, and the one that runs."""
    hub.take_in()
    yield from hub.recent.lookups
    minute_ms = now_ms - now_ms % _MINUTE_MS
    for key, (count, missed, size) in context.nameserver.meter.lookups.items():
        if count:
            yield LookupMinute(minute_ms=minute_ms, **key._asdict(), count=count, misses=missed, bytes=size)

"""The server itself: probes, metrics, `/v1/server`, health, key figures, settings, KV configuration."""

from typing import Annotated, Final

import msgspec
from litestar import Response, get
from litestar.params import QueryParameter

from routebook import __version__
from routebook.history.query.activity import ActivityPoint
from routebook.history.query.answers import Certainty
from routebook.server.http.api.parameters import parse_time, query_history
from routebook.server.http.api.parts import ContextDep, PartsDep
from routebook.server.http.errors import ApiError, error_specs, response_spec
from routebook.server.http.live.overview import Overview
from routebook.server.http.views import answers, tables
from routebook.server.http.views.metrics import MEDIA_TYPE
from routebook.server.observe.health import HealthReport
from routebook.settings.setting import Group, How, show
from routebook.settings.table import SETTINGS

_HOUR_MS: Final = 3_600_000
_MAX_SPAN_MS: Final = 366 * 24 * _HOUR_MS
_CHANGES: Final = {How.RUNTIME: "at run time", How.RESTART: "at start", How.FIXED: "at start", How.UNUSED: "never"}


class StripAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Activity of the last hours in equal steps, oldest first."""

    from_ms: int
    to_ms: int
    step_ms: int
    points: list[ActivityPoint]
    certainty: Certainty


class ShownSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting."""

    key: str
    value: str
    default: str
    group: str
    changes: str  # at run time, at start, never
    values: str  # accepted values
    note: str
    origin: str | None  # source of the value; null: the default


class SettingsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    settings: list[ShownSetting]


@get("/healthz", summary="Liveness probe")
async def healthz(context: ContextDep) -> answers.AliveAnswer:
    uptime_s = (context.now_ms() - context.nameserver.started_ms) / 1000
    return answers.AliveAnswer(status="alive", version=__version__, ns=context.ns, uptime_s=uptime_s)


@get("/readyz", summary="Readiness probe", responses={503: response_spec(answers.ReadyAnswer, "Not ready")})
async def readyz(context: ContextDep) -> Response[answers.ReadyAnswer]:
    waiting_for = context.health.waiting_for()
    ready = answers.ReadyAnswer(ready=not waiting_for, waiting_for=waiting_for)
    return Response(ready, status_code=503 if waiting_for else 200)


@get(
    "/metrics",
    summary="Prometheus metrics",
    media_type="text/plain",
    responses={200: response_spec(str, "Prometheus text format", media_type="text/plain")},
)
async def metrics(parts: PartsDep) -> Response[bytes]:
    return Response(parts.metrics.text(), media_type=MEDIA_TYPE)


@get("/v1/server", summary="Identity, settings and table sizes of this NameServer")
async def server(context: ContextDep) -> answers.ServerAnswer:
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
        sizes=tables.sizes(ns),
        settings=tables.settings(ns),
    )


@get("/v1/health", summary="Health of every part of the server")
async def health(context: ContextDep) -> HealthReport:
    return context.health.report()


@get("/v1/overview", summary="Key figures of this NameServer")
async def overview(parts: PartsDep) -> Overview:
    await parts.hub.prime()
    parts.hub.take_in()
    return parts.hub.overview(parts.context.now_ms())


@get("/v1/strip", summary="Activity of the last hours", responses=error_specs(503))
async def strip(
    parts: PartsDep,
    hours: Annotated[int, QueryParameter(ge=1, le=24 * 31, description="number of hours")] = 24,
    steps: Annotated[int, QueryParameter(ge=1, le=1000, description="number of steps")] = 288,
    since: Annotated[str | None, QueryParameter(description="start, as `at` of other paths; replaces `hours`")] = None,
    until: Annotated[str | None, QueryParameter(description="end [now]")] = None,
) -> StripAnswer:
    """Per step: the number of brokers at its end, brokers that joined and left, and changes."""
    wall_ms = parts.context.wall_ms()
    now_ms = parts.context.now_ms() if until is None else min(parse_time(until, wall_ms), wall_ms)
    span_ms = hours * _HOUR_MS if since is None else now_ms - parse_time(since, wall_ms)
    if not 0 < span_ms <= _MAX_SPAN_MS:
        raise ApiError(400, "since is not before until, or more than 366 days earlier", "choose a shorter range")
    step_ms = max(1, span_ms // steps)
    from_ms = now_ms - step_ms * steps
    points, certainty = await query_history(
        parts, lambda history: history.activity(from_ms=from_ms, step_ms=step_ms, steps=steps)
    )
    return StripAnswer(from_ms=from_ms, to_ms=now_ms, step_ms=step_ms, points=points, certainty=certainty)


@get("/v1/settings", summary="All settings except secrets, and the source of each value")
async def settings(context: ContextDep) -> SettingsAnswer:
    current = context.nameserver.settings
    return SettingsAnswer(
        settings=[
            ShownSetting(
                key=setting.key,
                value=show(current.values[setting.key]),
                default=show(setting.default),
                group="Routebook" if setting.group is Group.ROUTEBOOK else setting.group.value,
                changes=_CHANGES[setting.how],
                values=setting.type.expects,
                note=setting.note,
                origin=current.origins.get(setting.key),
            )
            for setting in SETTINGS
            if not setting.is_secret
        ]
    )


@get("/v1/kv", summary="KV configuration", responses=error_specs())
async def kv(
    context: ContextDep, namespace: Annotated[str | None, QueryParameter(description="only this namespace")] = None
) -> answers.KvAnswer:
    namespaces = context.nameserver.kv.namespaces()
    return answers.KvAnswer(
        namespaces={name: dict(table) for name, table in namespaces.items() if namespace in (None, name)}
    )

"""`/v1/controller…`: the Controller of this process, its broker sets now or at a past time, and its elections."""

from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from routebook.controller.overview import NodeOverview, SetView, set_view, set_views
from routebook.history.query.controller_sets import Elections, PastSetAnswer, PastSets
from routebook.server.http.api.parameters import At, Limit, NameInPath, from_path, parse_time, query_history
from routebook.server.http.api.parts import PartsDep
from routebook.server.http.context import ControllerPart, HttpContext
from routebook.server.http.errors import ApiError, error_specs

Before = Annotated[str | None, QueryParameter(description="only elections at this time or earlier")]
OnlyBroker = Annotated[str | None, QueryParameter(description="only elections of this set")]


class ControllerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The Controller; `node` is None if this process has none."""

    at_ms: int
    enabled: bool
    node: NodeOverview | None
    sets: int
    sets_without_master: int
    replicas_out_of_sync: int


class SetsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The sets now; with `at`, as the journal of this node has them at that time."""

    at_ms: int
    sets: list[SetView]
    past: PastSets | None


class SetAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A set now; with `at`, at that time: its master, since when, and why."""

    broker: str
    at_ms: int
    set: SetView | None
    past: PastSetAnswer | None


@get("/v1/controller", summary="The Controller: leader, peers, counts", responses=error_specs())
async def controller(parts: PartsDep) -> ControllerAnswer:
    part, now_ms = parts.context.controller, parts.context.now_ms()
    sets = [] if part is None else set_views(part.machine, now_ms)
    return ControllerAnswer(
        at_ms=now_ms,
        enabled=part is not None,
        node=None if part is None else part.overview(),
        sets=len(sets),
        sets_without_master=sum(one.master_id is None for one in sets),
        replicas_out_of_sync=sum(not replica.in_sync for one in sets for replica in one.replicas),
    )


@get(
    "/v1/controller/sets",
    summary="Broker sets of the Controller, now or at a past time",
    responses=error_specs(404, 503),
)
async def controller_sets(parts: PartsDep, at: At = None) -> SetsAnswer:
    if at is not None:
        at_ms = parse_time(at, parts.context.now_ms())
        past = await query_history(parts, lambda history: history.sets_at(at_ms))
        return SetsAnswer(at_ms=at_ms, sets=[], past=past)
    now_ms = parts.context.now_ms()
    return SetsAnswer(at_ms=now_ms, sets=set_views(part_of(parts.context).machine, now_ms), past=None)


@get(
    "/v1/controller/sets/{name:str}",
    summary="A broker set of the Controller: who is or was master, and why",
    responses=error_specs(404, 503),
)
async def controller_set(parts: PartsDep, name: NameInPath, at: At = None) -> SetAnswer:
    name = from_path(name)
    if at is not None:
        at_ms = parse_time(at, parts.context.now_ms())
        past = await query_history(parts, lambda history: history.set_at(name, at_ms))
        return SetAnswer(broker=name, at_ms=at_ms, set=None, past=past)
    now_ms = parts.context.now_ms()
    found = set_view(part_of(parts.context).machine, name, now_ms)
    if found is None:
        raise ApiError(404, "the Controller has no set with this name", "/v1/controller/sets lists the sets")
    return SetAnswer(broker=name, at_ms=now_ms, set=found, past=None)


@get("/v1/controller/elections", summary="Elections, newest first", responses=error_specs(503))
async def controller_elections(
    parts: PartsDep, broker: OnlyBroker = None, limit: Limit = 50, before: Before = None
) -> Elections:
    """From the journal of this node: the elections that it committed as the leader."""
    before_ms = None if before is None else parse_time(before, parts.context.now_ms())
    return await query_history(parts, lambda history: history.elections(broker, limit=limit, before_ms=before_ms))


def part_of(context: HttpContext) -> ControllerPart:
    """The Controller of this process. Raises ApiError."""
    if context.controller is None:
        hint = "enableControllerInNamesrv=true in the -c file starts one; see docs/controller.md"
        raise ApiError(404, "this process has no Controller", hint, code="no-controller")
    return context.controller

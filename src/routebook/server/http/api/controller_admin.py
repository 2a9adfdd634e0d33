"""`/v1/admin/controller/…`: elect a master, and clean replicas, with a preview by the Controller's own decision."""

from typing import Annotated

import msgspec
from litestar import post
from litestar.params import JSONBody

from routebook.access.decision import decide
from routebook.codes import ResponseCode
from routebook.controller.access import needed, target_of
from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.controller.preview import preview
from routebook.controller.record import Origin
from routebook.server.http.api.admin import OPTIONS, HttpRequest
from routebook.server.http.api.admin_actions import AdminAnswer, Change, check_admin, deny
from routebook.server.http.api.controller import part_of
from routebook.server.http.api.login import check_csrf
from routebook.server.http.api.parts import Parts, PartsDep
from routebook.server.http.auth.authenticate import Caller, caller_of, check_page
from routebook.server.http.context import ControllerPart
from routebook.server.http.errors import ApiError
from routebook.wire.command import Command

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class ElectWish(msgspec.Struct, frozen=True, kw_only=True):
    """The replica that is to become master."""

    broker: _Name
    broker_id: int
    dry_run: bool = True


class CleanWish(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas to remove, also living ones if `living`; without ids, the whole set."""

    broker: _Name
    broker_ids: list[int] = []
    living: bool = False
    dry_run: bool = True


@post("/v1/admin/controller/elect", summary="Make a replica the master of its set", **OPTIONS)
async def elect_master(request: HttpRequest, parts: PartsDep, data: JSONBody[ElectWish]) -> AdminAnswer:
    """Same as request code 1002 with `designateElect`, `mqadmin electMaster`."""
    fields = {"brokerName": data.broker, "brokerId": str(data.broker_id), "designateElect": "true"}
    command = Command(ControllerRequest.CONTROLLER_ELECT_MASTER, 0, ext={**fields})
    return await _apply(request, parts, "elect master", command, dry_run=data.dry_run)


@post("/v1/admin/controller/clean", summary="Remove replicas from the Controller", **OPTIONS)
async def clean_replicas(request: HttpRequest, parts: PartsDep, data: JSONBody[CleanWish]) -> AdminAnswer:
    """Same as request code 1011, `mqadmin cleanBrokerMetadata`."""
    fields = {
        "brokerName": data.broker,
        "brokerControllerIdsToClean": ";".join(map(str, data.broker_ids)),
        "isCleanLivingBroker": "true" if data.living else "false",
    }
    command = Command(ControllerRequest.CLEAN_BROKER_DATA, 0, ext={**fields})
    return await _apply(request, parts, "clean replicas", command, dry_run=data.dry_run)


async def _apply(request: HttpRequest, parts: Parts, action: str, command: Command, *, dry_run: bool) -> AdminAnswer:
    check_page(request)
    context, caller = parts.context, caller_of(request)
    check_admin(context, caller)
    check_csrf(request, parts.sessions)
    part = part_of(context)
    known = part.machine.sets.get(command.field("brokerName") or "")
    if known is not None and command.ext is not None:
        command.ext["clusterName"] = known.cluster
    _check_target(parts, caller, part, command)
    differences, notes = preview(
        part.machine,
        part.machine.read(command),
        now_ms=context.now_ms(),
        allow_unclean=part.overview().unclean_elections,
    )
    changes = [Change(what=one.what, before=one.before, after=one.after) for one in differences]
    if not dry_run:
        await _execute(part, caller, command)
    return AdminAnswer(
        action=action,
        dry_run=dry_run,
        done=not dry_run and bool(changes),
        changes=changes,
        total=len(changes),
        notes=notes,
        seq=None,
    )


def _check_target(parts: Parts, caller: Caller, part: ControllerPart, command: Command) -> None:
    identity = caller.identity
    if identity is None:
        return  # check_admin has rejected it
    target = target_of(part.machine.sets, command)
    reason = decide(identity, needed(command), host=caller.host, target=target)
    if reason is not None:
        deny(parts.context, caller, command.code, reason)


async def _execute(part: ControllerPart, caller: Caller, command: Command) -> None:
    who = None if caller.identity is None else caller.identity.name
    reply = await part.ask(command, Origin(caller.address, who, command.code))
    if reply.code == ControllerResponse.NOT_LEADER:
        leader = part.overview().leader
        raise ApiError(503, "this node does not lead", f"the leader is {leader or 'not known'}", code="not-leader")
    if reply.code != ResponseCode.SUCCESS:
        hint = "a dry run shows what the Controller would do"
        raise ApiError(409, reply.remark or f"rejected with code {reply.code}", hint, code="rejected")

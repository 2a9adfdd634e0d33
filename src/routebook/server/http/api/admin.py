"""`/v1/admin/…`: changes by administrators. Every request is a dry run unless `dry_run` is false."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from litestar import Request, delete, post
from litestar.params import JSONBody, QueryParameter

from routebook.handlers import NameServer
from routebook.server.http.api import admin_actions
from routebook.server.http.api.admin_actions import AdminAnswer, Plan
from routebook.server.http.api.login import check_csrf
from routebook.server.http.api.parameters import NameInPath, OnlyCluster, from_path
from routebook.server.http.api.parts import Parts, PartsDep
from routebook.server.http.auth.authenticate import caller_of, check_page
from routebook.server.http.errors import error_specs

HttpRequest: TypeAlias = Request[Any, Any, Any]
DryRun = Annotated[bool, QueryParameter(description="false: apply the change; otherwise only show it")]
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
OPTIONS: Final[dict[str, Any]] = {"status_code": 200, "responses": error_specs(401, 403, 404, 413, 415, 503)}


class KvEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the KV configuration."""

    namespace: _Name
    key: _Name
    value: Annotated[str, msgspec.Meta(max_length=60_000)]
    dry_run: bool = True


class NewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings by key."""

    values: dict[str, str]
    dry_run: bool = True


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Whether to apply the change."""

    dry_run: bool = True


@post("/v1/admin/kv", summary="Put a KV entry", **OPTIONS)
async def put_kv(request: HttpRequest, parts: PartsDep, data: JSONBody[KvEntry]) -> AdminAnswer:
    """Same as request code 100."""
    plan = partial(admin_actions.kv_put, namespace=data.namespace, key=data.key, value=data.value)
    return await _apply(request, parts, plan, dry_run=data.dry_run)


@delete("/v1/admin/kv/{namespace:str}/{key:str}", summary="Delete a KV entry", **OPTIONS)
async def delete_kv(
    request: HttpRequest, parts: PartsDep, namespace: NameInPath, key: NameInPath, dry_run: DryRun = True
) -> AdminAnswer:
    """Same as request code 102."""
    plan = partial(admin_actions.kv_delete, namespace=from_path(namespace), key=from_path(key))
    return await _apply(request, parts, plan, dry_run=dry_run)


@post("/v1/admin/settings", summary="Change run-time settings", **OPTIONS)
async def change_settings(request: HttpRequest, parts: PartsDep, data: JSONBody[NewSettings]) -> AdminAnswer:
    """Same as request code 318; `notes` names settings that cannot change at run time."""
    plan = partial(admin_actions.settings_update, values=data.values)
    return await _apply(request, parts, plan, dry_run=data.dry_run)


@post("/v1/admin/brokers/{name:str}/wipe-write", summary="Remove write permission from a broker's topics", **OPTIONS)
async def wipe_write(request: HttpRequest, parts: PartsDep, name: NameInPath, data: JSONBody[Wish]) -> AdminAnswer:
    """Same as request code 205."""
    plan = partial(admin_actions.write_permission, broker=from_path(name), restore=False)
    return await _apply(request, parts, plan, dry_run=data.dry_run)


@post("/v1/admin/brokers/{name:str}/restore-write", summary="Restore write permission of a broker's topics", **OPTIONS)
async def restore_write(request: HttpRequest, parts: PartsDep, name: NameInPath, data: JSONBody[Wish]) -> AdminAnswer:
    """Same as request code 327."""
    plan = partial(admin_actions.write_permission, broker=from_path(name), restore=True)
    return await _apply(request, parts, plan, dry_run=data.dry_run)


@delete("/v1/admin/topics/{topic:str}", summary="Delete a topic's routes", **OPTIONS)
async def delete_topic(
    request: HttpRequest, parts: PartsDep, topic: NameInPath, cluster: OnlyCluster = None, dry_run: DryRun = True
) -> AdminAnswer:
    """Same as request code 216."""
    plan = partial(admin_actions.topic_delete, topic=from_path(topic), cluster=cluster or None)
    return await _apply(request, parts, plan, dry_run=dry_run)


async def _apply(
    request: HttpRequest, parts: Parts, make_plan: Callable[[NameServer], Plan], *, dry_run: bool
) -> AdminAnswer:
    """Check the request and the caller, then show or apply the planned change."""
    check_page(request)
    context, caller = parts.context, caller_of(request)
    admin_actions.check_admin(context, caller)
    check_csrf(request, parts.sessions)
    return await admin_actions.apply(context, caller, make_plan(context.nameserver), dry_run=dry_run)

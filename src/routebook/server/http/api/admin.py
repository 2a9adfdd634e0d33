"""`/v1/admin/…`: what an administrator may change; first what it would change, then for real."""

from typing import Annotated, Any, TypeAlias

import msgspec
from litestar import Request, delete, post
from litestar.params import JSONBody, QueryParameter

from routebook.server.http.api.admin_actions import (
    AdminAnswer,
    Plan,
    carry_out,
    check_admin,
    kv_delete,
    kv_put,
    settings_update,
    topic_delete,
    write_permission,
)
from routebook.server.http.api.dependencies import Context
from routebook.server.http.api.login import Logins, check_csrf
from routebook.server.http.api.names import from_path
from routebook.server.http.api.tables import InPath
from routebook.server.http.auth.callers import caller_of, check_page
from routebook.server.http.auth.sessions import Sessions
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import documented

DryRun = Annotated[bool, QueryParameter(description="false: do it; otherwise only say what would change")]
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
_STATUSES = (401, 403, 404, 413, 415, 503)


class KvEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the KV configuration."""

    namespace: _Name
    key: _Name
    value: Annotated[str, msgspec.Meta(max_length=60_000)]
    dry_run: bool = True


class NewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings by their keys."""

    values: dict[str, str]
    dry_run: bool = True


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Whether to do it."""

    dry_run: bool = True


@post("/v1/admin/kv", status_code=200, summary="Put a KV entry", responses=documented(*_STATUSES))
async def put_kv(
    request: Request[Any, Any, Any], context: Context, sessions: Logins, data: JSONBody[KvEntry]
) -> AdminAnswer:
    """As request code 100."""
    _check(request, context, sessions)
    plan = kv_put(context.nameserver, namespace=data.namespace, key=data.key, value=data.value)
    return await _carry_out(request, context, plan, dry_run=data.dry_run)


@delete(
    "/v1/admin/kv/{namespace:str}/{key:str}",
    status_code=200,
    summary="Delete a KV entry",
    responses=documented(*_STATUSES),
)
async def delete_kv(
    request: Request[Any, Any, Any],
    context: Context,
    sessions: Logins,
    namespace: InPath,
    key: InPath,
    dry_run: DryRun = True,
) -> AdminAnswer:
    """As request code 102."""
    _check(request, context, sessions)
    plan = kv_delete(context.nameserver, namespace=from_path(namespace), key=from_path(key))
    return await _carry_out(request, context, plan, dry_run=dry_run)


@post("/v1/admin/settings", status_code=200, summary="Change run-time settings", responses=documented(*_STATUSES))
async def change_settings(
    request: Request[Any, Any, Any], context: Context, sessions: Logins, data: JSONBody[NewSettings]
) -> AdminAnswer:
    """As request code 318: what cannot change at run time is named in `notes` and stays."""
    _check(request, context, sessions)
    plan = settings_update(context.nameserver, data.values)
    return await _carry_out(request, context, plan, dry_run=data.dry_run)


@post(
    "/v1/admin/brokers/{name:str}/wipe-write",
    status_code=200,
    summary="Take write permission from a broker's topics",
    responses=documented(*_STATUSES),
)
async def wipe_write(
    request: Request[Any, Any, Any], context: Context, sessions: Logins, name: InPath, data: JSONBody[Wish]
) -> AdminAnswer:
    """As request code 205."""
    _check(request, context, sessions)
    plan = write_permission(context.nameserver, from_path(name), restore=False)
    return await _carry_out(request, context, plan, dry_run=data.dry_run)


@post(
    "/v1/admin/brokers/{name:str}/restore-write",
    status_code=200,
    summary="Give write permission back to a broker's topics",
    responses=documented(*_STATUSES),
)
async def restore_write(
    request: Request[Any, Any, Any], context: Context, sessions: Logins, name: InPath, data: JSONBody[Wish]
) -> AdminAnswer:
    """As request code 327."""
    _check(request, context, sessions)
    plan = write_permission(context.nameserver, from_path(name), restore=True)
    return await _carry_out(request, context, plan, dry_run=data.dry_run)


@delete(
    "/v1/admin/topics/{topic:str}",
    status_code=200,
    summary="Delete a topic's routes",
    responses=documented(*_STATUSES),
)
async def delete_topic(
    request: Request[Any, Any, Any],
    context: Context,
    sessions: Logins,
    topic: InPath,
    cluster: Annotated[str | None, QueryParameter(description="in this cluster only")] = None,
    dry_run: DryRun = True,
) -> AdminAnswer:
    """As request code 216."""
    _check(request, context, sessions)
    plan = topic_delete(context.nameserver, from_path(topic), cluster=cluster or None)
    return await _carry_out(request, context, plan, dry_run=dry_run)


def _check(request: Request[Any, Any, Any], context: HttpContext, sessions: Sessions) -> None:
    check_page(request)
    check_admin(context, caller_of(request))
    check_csrf(request, sessions)


async def _carry_out(
    request: Request[Any, Any, Any], context: HttpContext, plan: Plan, *, dry_run: bool
) -> AdminAnswer:
    return await carry_out(context, caller_of(request), plan, dry_run=dry_run)

"""`/v1/session`: log in to the console, log out, show the current user."""

from secrets import compare_digest
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.params import JSONBody

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.server.http.api.parts import PartsDep
from routebook.server.http.auth.authenticate import Caller, caller_of, check_page
from routebook.server.http.auth.sessions import Session, Sessions, cookie, session_secrets
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.observe.log import escape

HttpRequest: TypeAlias = Request[Any, Any, Any]

CSRF_HEADER: Final = "x-routebook-csrf"
HOW_TO_ENABLE: Final = (
    "authentication is off: create an identities file, set routebook.auth.file to its path, and restart;"
    " docs/security.md has an example"
)


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """Access key and secret."""

    access_key: Annotated[str, msgspec.Meta(max_length=1000)]
    secret_key: Annotated[str, msgspec.Meta(max_length=1000)]


class SessionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The current user. Send `csrf` with every write as the header X-Routebook-CSRF."""

    authentication: bool
    who: str | None
    admin: bool
    access: list[str]  # the classes of requests that are allowed; docs/security.md describes them
    limits: list[str]  # the clusters and brokers to which changes are limited; empty: none
    csrf: str | None
    expires_at_ms: int | None
    hint: str | None


@get("/v1/session", summary="Current user")
async def session(request: HttpRequest, parts: PartsDep) -> SessionAnswer:
    return _answer(parts.context, parts.sessions.find(request.scope["headers"]), caller_of(request).identity)


@post("/v1/session", status_code=200, summary="Log in", responses=error_specs(401, 403, 413, 415, 429))
async def log_in(request: HttpRequest, parts: PartsDep, data: JSONBody[Credentials]) -> Response[SessionAnswer]:
    """With an access key and its secret. Sets an HttpOnly session cookie."""
    check_page(request)
    access, caller, now_ms = parts.context.access, caller_of(request), parts.context.now_ms()
    if access is None:
        raise ApiError(403, "authentication is off", HOW_TO_ENABLE, code="authentication-off")
    wait_s = parts.throttle.wait_s(caller.host, data.access_key, now_ms)
    if wait_s:
        _record_denial(parts.context, caller, "too many failed logins")
        raise ApiError(
            429, "too many failed logins", f"wait {wait_s} s", code="too-many-attempts", retry_after_s=wait_s
        )
    identity = access.identities.authenticate(data.access_key, data.secret_key)
    if identity is None or not identity.allows_host(caller.host):
        parts.throttle.failed(caller.host, data.access_key, now_ms)
        _record_denial(parts.context, caller, f"login failed as {escape(data.access_key, max_chars=64)}")
        raise ApiError(401, "unknown access key or wrong secret", "try again", code="bad-credentials")
    parts.throttle.succeeded(caller.host, data.access_key)
    parts.sessions.close(request.scope["headers"])
    secret, opened = parts.sessions.open(identity)
    seconds = parts.context.nameserver.settings.console.session_s
    header = cookie(secret, max_age_s=seconds, secure=_is_secure(request))
    return Response(_answer(parts.context, opened, identity), headers={"set-cookie": header})


@delete("/v1/session", status_code=200, summary="Log out", responses=error_specs(403))
async def log_out(request: HttpRequest, parts: PartsDep) -> Response[SessionAnswer]:
    check_page(request)
    check_csrf(request, parts.sessions)
    parts.sessions.close(request.scope["headers"])
    header = cookie("", max_age_s=0, secure=_is_secure(request))
    return Response(_answer(parts.context, None, None), headers={"set-cookie": header})


def check_csrf(request: HttpRequest, sessions: Sessions) -> None:
    """Reject a write that has a session cookie but no CSRF token. Requests with credentials need none."""
    headers = request.scope["headers"]
    if "authorization" in request.headers or not session_secrets(headers):
        return
    found = sessions.find(headers)
    given = request.headers.get(CSRF_HEADER, "").encode("latin-1", "replace")
    if found is not None and not compare_digest(given, found.csrf.encode()):
        raise ApiError(403, "CSRF token missing or wrong", "reload the page", code="csrf")


def _answer(context: HttpContext, found: Session | None, identity: Identity | None) -> SessionAnswer:
    anonymous = None if context.access is None else context.access.identities.anonymous
    known = None if identity is None or identity == anonymous else identity
    return SessionAnswer(
        authentication=context.access is not None,
        who=None if known is None else known.name,
        admin=known is not None and known.may(Access.ADMIN_WRITE),
        access=sorted(identity.access) if identity is not None else [],
        limits=_limits(identity),
        csrf=None if found is None else found.csrf,
        expires_at_ms=None if found is None else found.expires_ms,
        hint=HOW_TO_ENABLE if context.access is None else None,
    )


def _limits(identity: Identity | None) -> list[str]:
    if identity is None:
        return []
    clusters = [f"cluster {name}" for name in sorted(identity.clusters or ())]
    return clusters + [f"broker {name}" for name in sorted(identity.brokers or ())]


def _record_denial(context: HttpContext, caller: Caller, why: str) -> None:
    if context.denials is not None:
        context.denials.denied(code=0, why=why, peer=caller.address)


def _is_secure(request: HttpRequest) -> bool:
    """Whether the browser uses TLS, to this server or to a proxy in front of it."""
    forwarded = request.headers.get("x-forwarded-proto", "")
    return request.scope["scheme"] == "https" or forwarded.partition(",")[0].strip().lower() == "https"

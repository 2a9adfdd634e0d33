"""`/v1/session`: log in to the console, log out, and who one is."""

from secrets import compare_digest
from typing import Annotated, Any, Final

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, SkipValidation

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.server.http.api.dependencies import Context
from routebook.server.http.auth.callers import Caller, caller_of, check_page
from routebook.server.http.auth.login_throttle import Attempts
from routebook.server.http.auth.sessions import Session, Sessions, cookie, has_cookie
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal, documented
from routebook.server.observe.log import escape

Logins = NamedDependency[SkipValidation[Sessions]]
Tries = NamedDependency[SkipValidation[Attempts]]

CSRF_HEADER: Final = "x-routebook-csrf"
HOW: Final = (
    "authentication is off, so nobody is an administrator here: write a file of identities, name it with"
    " routebook.auth.file, and start again; docs/security.md has an example"
)


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody proves their name with."""

    access_key: Annotated[str, msgspec.Meta(max_length=1000)]
    secret_key: Annotated[str, msgspec.Meta(max_length=1000)]


class SessionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Who one is. `csrf` is to be sent back with every write, as the header X-Routebook-CSRF."""

    authentication: bool
    who: str | None
    admin: bool
    csrf: str | None
    expires_at_ms: int | None
    hint: str | None


@get("/v1/session", summary="Who is logged in")
async def session(request: Request[Any, Any, Any], context: Context, sessions: Logins) -> SessionAnswer:
    return _answer(context, sessions.find(request.scope["headers"]), caller_of(request).identity)


@post("/v1/session", status_code=200, summary="Log in", responses=documented(401, 403, 413, 415, 429))
async def log_in(
    request: Request[Any, Any, Any], context: Context, sessions: Logins, attempts: Tries, data: JSONBody[Credentials]
) -> Response[SessionAnswer]:
    """With an access key and its secret. The session is in a cookie that no script can read."""
    check_page(request)
    access, caller, now_ms = context.access, caller_of(request), context.now_ms()
    if access is None:
        raise Refusal(403, "authentication is off", HOW, code="authentication-off")
    wait_s = attempts.wait_s(caller.host, now_ms)
    if wait_s:
        _deny(context, caller, "too many failed logins")
        raise Refusal(429, "too many failed logins", f"wait {wait_s} s", code="too-many-attempts", retry_after_s=wait_s)
    identity = access.identities.proves(data.access_key, data.secret_key)
    if identity is None or not identity.comes_from(caller.host):
        attempts.failed(caller.host, now_ms)
        _deny(context, caller, f"login failed as {escape(data.access_key, max_chars=64)}")
        raise Refusal(401, "access key or secret is not right", "try again", code="bad-credentials")
    attempts.succeeded(caller.host)
    sessions.close(request.scope["headers"])
    secret, opened = sessions.open(identity)
    seconds = context.nameserver.settings.console.session_s
    header = cookie(secret, seconds=seconds, secure=_is_secure(request))
    return Response(_answer(context, opened, identity), headers={"set-cookie": header})


@delete("/v1/session", status_code=200, summary="Log out", responses=documented(403))
async def log_out(request: Request[Any, Any, Any], context: Context, sessions: Logins) -> Response[SessionAnswer]:
    check_page(request)
    check_csrf(request, sessions)
    sessions.close(request.scope["headers"])
    header = cookie("", seconds=0, secure=_is_secure(request))
    return Response(_answer(context, None, None), headers={"set-cookie": header})


def check_csrf(request: Request[Any, Any, Any], sessions: Sessions) -> None:
    """Refuse a write that rides on somebody's cookie. Who sends their secret with each request shows enough."""
    headers = request.scope["headers"]
    if "authorization" in request.headers or not has_cookie(headers):
        return
    found = sessions.find(headers)
    given = request.headers.get(CSRF_HEADER, "").encode("latin-1", "replace")
    if found is not None and not compare_digest(given, found.csrf.encode()):
        raise Refusal(403, "the request does not come from the console's page", "load the page again", code="csrf")


def _answer(context: HttpContext, found: Session | None, identity: Identity | None) -> SessionAnswer:
    anonymous = None if context.access is None else context.access.identities.anonymous
    known = None if identity is None or identity == anonymous else identity
    return SessionAnswer(
        authentication=context.access is not None,
        who=None if known is None else known.name,
        admin=known is not None and known.may(Access.ADMIN_WRITE),
        csrf=None if found is None else found.csrf,
        expires_at_ms=None if found is None else found.expires_ms,
        hint=HOW if context.access is None else None,
    )


def _deny(context: HttpContext, caller: Caller, why: str) -> None:
    if context.denials is not None:
        context.denials.denied(code=0, why=why, peer=caller.address)


def _is_secure(request: Request[Any, Any, Any]) -> bool:
    """Whether the browser speaks TLS, with this server or with one before it."""
    forwarded = request.headers.get("x-forwarded-proto", "")
    return request.scope["scheme"] == "https" or forwarded.partition(",")[0].strip().lower() == "https"

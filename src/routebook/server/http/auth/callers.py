"""The sender of a request, and the check that a page of this server sent it."""

from typing import Any, Final

import msgspec
from litestar import Request

from routebook.access.identity import Identity
from routebook.server.http.errors import ApiError
from routebook.server.http.transport.asgi import peer_of
from routebook.server.http.transport.origin import is_same_origin

_JSON: Final = "application/json"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The client's address and identity; `identity` is None if it did not authenticate."""

    host: str
    address: str
    identity: Identity | None


def caller_of(request: Request[Any, Any, Any]) -> Caller:
    """The caller as the guard identified it."""
    host, address = peer_of(request.scope.get("client"))
    identity = request.scope.get("state", {}).get("identity")
    return Caller(host=host, address=address, identity=identity if isinstance(identity, Identity) else None)


def check_page(request: Request[Any, Any, Any]) -> None:
    """Reject cross-site requests: HTML forms cannot send JSON, and scripts send their origin. Raises ApiError."""
    if not is_same_origin(request.scope["headers"]):
        raise ApiError(403, "cross-site request rejected", "use the console of this server", code="origin")
    if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise ApiError(415, f"the body is not {_JSON}", f"send the header content-type: {_JSON}", code="not-json")

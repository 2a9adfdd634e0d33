"""Who sent a request, and whether it was a page of this server that made them send it."""

from typing import Any, Final

import msgspec
from litestar import Request

from routebook.access.identity import Identity
from routebook.server.http.errors import Refusal
from routebook.server.http.transport.origin import is_same_origin

_JSON: Final = "application/json"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """An address, and who is known to sit there; None where nobody has proven anything."""

    host: str
    address: str
    identity: Identity | None


def caller_of(request: Request[Any, Any, Any]) -> Caller:
    """The guard has found out who it is."""
    client = request.scope.get("client")
    host, port = (client[0], client[1]) if client else ("unknown", 0)
    identity = request.scope.get("state", {}).get("identity")
    return Caller(
        host=host,
        address=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        identity=identity if isinstance(identity, Identity) else None,
    )


def check_page(request: Request[Any, Any, Any]) -> None:
    """Refuse what another site's page may have sent: a form cannot send JSON, and scripts say where they are from."""
    if not is_same_origin(request.scope["headers"]):
        raise Refusal(403, "a page of another site sent this", "use the console of this server", code="origin")
    if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise Refusal(415, f"the body is not {_JSON}", f"send it with content-type: {_JSON}", code="not-json")

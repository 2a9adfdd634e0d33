"""Result types of requests, and the error class for each response code."""

from typing import Final

import msgspec

from routebook.client.addresses import Address
from routebook.errors import (
    BadRequest,
    Busy,
    Denied,
    Disabled,
    GoingAway,
    NotFound,
    NotReady,
    RequestError,
    TopicNotExist,
    Unsupported,
)
from routebook.model import DataVersion
from routebook.wire.command import Command

_BY_CODE: Final[dict[int, type[RequestError]]] = {
    int(kind.code): kind for kind in (BadRequest, Busy, Unsupported, Denied, TopicNotExist, NotFound, GoingAway)
}
# Java responds with code 1 to these; the remark distinguishes them
_BY_REMARK: Final[dict[str | None, type[RequestError]]] = {"name server not ready": NotReady, "disable": Disabled}


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a registration: the master's address (for a slave) and the order configuration, if any."""

    ha_addr: str | None = None
    master_addr: str | None = None
    order_topics: dict[str, str] | None = None


class VersionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the NameServer's version of a broker's topics differs, and its version (None: unknown broker)."""

    changed: bool
    version: DataVersion | None


def error_of(answer: Command, address: Address) -> RequestError:
    """Return the error for a response with a code other than 0."""
    kind = _BY_CODE.get(answer.code, RequestError)
    if kind is BadRequest:
        kind = _BY_REMARK.get(answer.remark, BadRequest)
    error = kind(answer.remark)
    error.code = answer.code
    error.address = str(address)
    return error

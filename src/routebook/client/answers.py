"""Answers as values and errors: the code of an answer decides which error a client raises, the server's own classes."""

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
# code 1 is all that Java has for these; its remark tells them apart
_BY_REMARK: Final[dict[str | None, type[RequestError]]] = {"name server not ready": NotReady, "disable": Disabled}


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker learns by registering: its master (a slave only), and the order topics where there are any."""

    ha_addr: str | None = None
    master_addr: str | None = None
    order_topics: dict[str, str] | None = None


class VersionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the NameServer has another version of a broker's topics, and which (None: the broker is unknown)."""

    changed: bool
    version: DataVersion | None


def error_of(answer: Command, address: Address) -> RequestError:
    """The error that an answer with a code other than 0 stands for."""
    kind = _BY_CODE.get(answer.code, RequestError)
    if kind is BadRequest:
        kind = _BY_REMARK.get(answer.remark, BadRequest)
    error = kind(answer.remark)
    error.code = answer.code
    error.address = str(address)
    return error

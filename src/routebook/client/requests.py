"""A NameServer request as a value, decoders for responses, and the error class for each response code."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

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
    ProtocolError,
    RequestError,
    TopicNotExist,
    Unsupported,
)
from routebook.model import DataVersion
from routebook.wire.command import Command
from routebook.wire.fields import bool_field, int_field
from routebook.wire.reply_bodies import decode_data_version, decode_kv_table, decode_topic_list

T = TypeVar("T")

_BY_CODE: Final[dict[int, type[RequestError]]] = {
    int(kind.code): kind for kind in (BadRequest, Busy, Unsupported, Denied, TopicNotExist, NotFound, GoingAway)
}
# Java responds with code 1 to these; the remark distinguishes them
_BY_REMARK: Final[dict[str | None, type[RequestError]]] = {"name server not ready": NotReady, "disable": Disabled}


class Request(msgspec.Struct, Generic[T], frozen=True):
    """One request; `read` decodes a response with code 0, or raises ProtocolError."""

    code: int
    read: Callable[[Command], T]
    ext: dict[str, str] | None = None
    body: bytes | None = None


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


def read_nothing(_answer: Command) -> None:
    """Ignore the content of a response."""


def read_topics(answer: Command) -> list[str]:
    """Decode a list of topic names."""
    return decode_topic_list(answer.body).topic_list


def read_value(answer: Command) -> str:
    """Decode a KV value."""
    value = answer.field("value")
    if value is None:
        raise ProtocolError("the response has no value")
    return value


def read_count(name: str) -> Callable[[Command], int]:
    """Return a decoder of the number in this field."""

    def read(answer: Command) -> int:
        count = int_field(answer, name)
        if count is None:
            raise ProtocolError(f"the response has no number {name}")
        return count

    return read


def read_settings(answer: Command) -> dict[str, str]:
    """Decode settings. Java does not escape them, so this is not a .properties file."""
    try:
        lines = (answer.body or b"").decode().split("\n")
    except UnicodeDecodeError:
        raise ProtocolError("the settings are not UTF-8") from None
    return {key: value for key, equals, value in (line.partition("=") for line in lines) if equals}


def read_version_check(answer: Command) -> VersionCheck:
    """Decode the response to QUERY_DATA_VERSION."""
    changed = bool_field(answer, "changed")
    if changed is None:
        raise ProtocolError("the response has no field changed")
    return VersionCheck(changed=changed, version=None if answer.body is None else decode_data_version(answer.body))


def read_registered(answer: Command) -> Registered:
    """Decode the response to REGISTER_BROKER."""
    return Registered(
        ha_addr=answer.field("haServerAddr"),
        master_addr=answer.field("masterAddr"),
        order_topics=None if answer.body is None else decode_kv_table(answer.body),
    )

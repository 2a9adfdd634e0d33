"""Structs as JSON, also where a name holds half a surrogate pair, which has no UTF-8 and which Java lets through."""

import json
from typing import TypeVar

import msgspec

T = TypeVar("T")


def dump(value: object) -> bytes:
    """As JSON; what has no UTF-8 becomes an escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, str_keys=True), separators=(",", ":")).encode()


def load(data: bytes, kind: type[T]) -> T:
    """What `dump` wrote."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(data), kind, str_keys=True)


def to_blob(text: str) -> bytes:
    """A name as SQLite keeps it: text would have to be UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def from_blob(data: bytes) -> str:
    """The name again."""
    return data.decode("utf-8", "surrogatepass")

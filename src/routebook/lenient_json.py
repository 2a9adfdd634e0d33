"""JSON and UTF-8 encoding that also accepts lone surrogates, which Java allows in names and strict UTF-8 does not.

JSON writes a lone surrogate as an escape (`\\ud800`). msgspec neither writes nor reads it, the standard library does.
Such values are rare, so the slow path does not matter.
"""

import json
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")
_encode: Final = msgspec.json.Encoder().encode


def encode_json(value: object) -> bytes:
    """Encode a struct or a builtin as JSON."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, str_keys=True), separators=(",", ":")).encode()


def decode_json(data: bytes, kind: type[T]) -> T:
    """Decode what `encode_json` wrote."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(data), kind, str_keys=True)


def to_blob(text: str) -> bytes:
    """Encode a name for a SQLite BLOB column; a TEXT column accepts only valid UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def from_blob(data: bytes) -> str:
    """Decode a name from a SQLite BLOB column."""
    return data.decode("utf-8", "surrogatepass")

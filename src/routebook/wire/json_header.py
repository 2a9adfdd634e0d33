"""Decodes JSON headers exactly as leniently as RocketMQ 5.5.0.

A well-formed header with known fields takes one typed decode. All others go to the reader that behaves like fastjson2.
"""

from typing import Final

import msgspec

from routebook.codes import LANGUAGES
from routebook.wire.fastjson.typed import MAX_LOOSE_HEADER_BYTES, STRICT_FAILURES, Int32


class Header(msgspec.Struct, gc=False):
    """The fields of a header. `opaque` is None if it is missing: the receiver then assigns a number."""

    code: Int32 = 0
    flag: Int32 = 0
    language: str | None = "JAVA"
    opaque: Int32 | None = None
    remark: str | None = None
    version: Int32 = 0
    ext: dict[str, str | None] | None = msgspec.field(default=None, name="extFields")


class _WireHeader(Header, gc=False, forbid_unknown_fields=True):
    """A header with the field that is ignored: the type byte of the frame decides."""

    serialize_type: str | None = msgspec.field(default=None, name="serializeTypeCurrentRPC")


def decode_json_header(data: bytes) -> Header:
    """Decode a header. Raises ProtocolError where Java closes the connection."""
    try:
        header = _decode(data)
    except STRICT_FAILURES:
        return _decode_leniently(data)
    # rare: missing and null differ for opaque, and an unknown language is null
    if header.opaque is None or header.language not in _LANGUAGES:
        if header.opaque is not None and len(data) > MAX_LOOSE_HEADER_BYTES:
            header.language = None  # a long header is not decoded twice
            return header
        return _decode_leniently(data)
    return header


def is_plain_header(data: bytes) -> bool:
    """Whether a header is strict JSON that contains the name of the opaque only once."""
    if b"\\" in data or data.count(b'"opaque"') != 1:
        return False
    try:
        return _decode(data).language in _LANGUAGES
    except STRICT_FAILURES:
        return False


def _decode_leniently(data: bytes) -> Header:
    from routebook.wire.fastjson.header import read_header  # noqa: PLC0415 - rarely needed, and slow to import

    return msgspec.convert(read_header(data), Header)


_decode = msgspec.json.Decoder(_WireHeader).decode
_LANGUAGES: Final = frozenset({*LANGUAGES, None})

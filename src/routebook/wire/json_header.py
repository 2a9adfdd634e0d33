"""The JSON form of a command's header, read exactly as leniently as RocketMQ 5.5.0 reads it.

A well-formed header of known fields takes one typed decode. Everything else goes to the reader that behaves as
fastjson2 does, which either makes sense of it in the same way or refuses it.
"""

from typing import Final

import msgspec

from routebook.codes import LANGUAGES
from routebook.wire.fastjson.typed import STRICT_FAILURES, Int32


class Header(msgspec.Struct, gc=False):
    """What a header says. `opaque` is None where it is missing: whoever reads it invents a number."""

    code: Int32 = 0
    flag: Int32 = 0
    language: str | None = "JAVA"
    opaque: Int32 | None = None
    remark: str | None = None
    version: Int32 = 0
    ext: dict[str, str | None] | None = msgspec.field(default=None, name="extFields")


class _WireHeader(Header, gc=False, forbid_unknown_fields=True):
    """A header and the one field that says nothing: the frame's type byte decides."""

    serialize_type: str | None = msgspec.field(default=None, name="serializeTypeCurrentRPC")


def decode_json_header(data: bytes) -> Header:
    """Raises ProtocolError where Java closes the connection."""
    try:
        header = _decode(data)
    except STRICT_FAILURES:
        return _decode_leniently(data)
    # Missing and null differ for opaque, and an unknown language is none: both are rare.
    if header.opaque is None or header.language not in _LANGUAGES:
        return _decode_leniently(data)
    return header


def says_all_in_plain_json(data: bytes) -> bool:
    """Whether this is strict JSON in which the opaque's name stands once: then only its number is its number."""
    if b"\\" in data or data.count(b'"opaque"') != 1:
        return False
    try:
        return _decode(data).language in _LANGUAGES
    except STRICT_FAILURES:
        return False


def _decode_leniently(data: bytes) -> Header:
    from routebook.wire.fastjson.header import read_header  # noqa: PLC0415 - a command line would wait for it in vain

    return msgspec.convert(read_header(data), Header)


_decode = msgspec.json.Decoder(_WireHeader).decode
_LANGUAGES: Final = frozenset({*LANGUAGES, None})

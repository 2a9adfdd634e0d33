"""The ROCKETMQ header: fixed fields, then two length-prefixed parts, all big-endian.

    code int16 | language int8 | version int16 | opaque int32 | flag int32
    remark      int32 length, UTF-8
    ext fields  int32 total length, then until it is used up:
                key int16 length, UTF-8 | value int32 length, UTF-8

A length of 0 means null. Java reads from the whole frame, not from a slice with the length of the header: if the inner
lengths contradict the header length, the body starts where reading stopped. This decoder does the same.
"""

from struct import Struct, error

from routebook.codes import LANGUAGES, VERSION_5_5_0
from routebook.errors import ProtocolError
from routebook.wire.command import Command
from routebook.wire.java_text import decode_utf8

_FIXED = Struct(">hbhiii")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_LANGUAGE_CODES = {name: number for number, name in enumerate(LANGUAGES)}


def decode_binary_header(frame: bytes, header_length: int) -> tuple[Command, int]:
    """Decode the header at offset 4 of `frame` (after the header word); also returns where reading stopped."""
    try:
        code, language, version, opaque, flag, remark_length = _FIXED.unpack_from(frame, 4)
        remark, at = _text(frame, 4 + _FIXED.size, remark_length, limit=header_length)
        (ext_length,) = _INT32.unpack_from(frame, at)
        at += 4
        ext: dict[str, str | None] | None = None
        if ext_length > 0:
            if ext_length > header_length:
                raise ProtocolError(f"ext fields of {ext_length} bytes in a header of {header_length}")
            ext, at = _map(frame, at, ext_length)
    except error as cut:
        raise ProtocolError(f"binary header is truncated: {cut}") from None
    command = Command(
        code=code,
        opaque=opaque,
        flag=flag,
        version=version,
        language=LANGUAGES[language] if 0 <= language < len(LANGUAGES) else None,
        remark=remark,
        ext=ext,
    )
    return command, at


def encode_binary_header(command: Command) -> bytes:
    """The header without the two length words of the frame."""
    remark = _bytes(command.remark or "")
    entries = bytearray()
    for key, value in (command.ext or {}).items():
        if value is not None:  # Java: omits entries with null
            name, text = _bytes(key), _bytes(value)
            entries += _INT16.pack(len(name)) + name + _INT32.pack(len(text)) + text
    fixed = _FIXED.pack(
        (command.code + 0x8000) % 0x10000 - 0x8000,  # Java: truncates codes beyond int16
        _LANGUAGE_CODES.get(command.language or "JAVA", 0),
        command.version,
        command.opaque,
        command.flag,
        len(remark),
    )
    return fixed + remark + _INT32.pack(len(entries)) + entries


def encode_binary_success(opaque: int) -> bytes:
    """The header of the most frequent answer: code 0 without further fields."""
    return _FIXED.pack(0, 0, VERSION_5_5_0, opaque, 1, 0) + b"\0\0\0\0"


def _map(frame: bytes, at: int, length: int) -> tuple[dict[str, str | None], int]:
    fields: dict[str, str | None] = {}
    end = at + length
    while at < end:
        (key_length,) = _INT16.unpack_from(frame, at)
        key, at = _text(frame, at + 2, key_length, limit=length)
        (value_length,) = _INT32.unpack_from(frame, at)
        value, at = _text(frame, at + 4, value_length, limit=length)
        if key is not None:  # Java: stores a null key, which is never read
            fields[key] = value
    return fields, at


def _text(frame: bytes, at: int, length: int, *, limit: int) -> tuple[str | None, int]:
    if length == 0:
        return None, at
    end = at + length
    if length < 0 or length > limit or end > len(frame):
        raise ProtocolError(f"text of {length} bytes; at most {min(limit, len(frame) - at)} are possible")
    return decode_utf8(frame[at:end]), end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")

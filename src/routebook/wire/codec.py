"""Encodes and decodes frames, with JSON or binary headers.

length int32 | header word: type 8 bits, header length 24 bits | header | body
"""

from collections.abc import Iterator
from struct import Struct

import msgspec

from routebook.codes import VERSION_5_5_0
from routebook.errors import ProtocolError
from routebook.wire.binary_header import decode_binary_header, encode_binary_header, encode_binary_success
from routebook.wire.command import Command, Reply, SerializeType
from routebook.wire.json_header import decode_json_header

_WORDS = Struct(">ii")
_SUCCESS = (
    f'{{"code":0,"flag":1,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":{VERSION_5_5_0}}}'
).encode()


class _JsonHeader(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A header as Java writes it: keys in alphabetical order, without nulls."""

    code: int
    ext_fields: dict[str, str] | None = None
    flag: int
    language: str | None = None
    opaque: int
    remark: str | None = None
    serialize_type: str = msgspec.field(name="serializeTypeCurrentRPC")
    version: int


_encode_header = msgspec.json.Encoder().encode


def decode(frame: bytes | memoryview, opaques: Iterator[int]) -> Command:
    """Decode a frame without its length word. Java: a JSON header without an opaque gets the next of `opaques`."""
    kind = frame[0]
    header_length = int.from_bytes(frame[1:4], "big")
    if header_length > len(frame) - 4:
        raise ProtocolError(f"header of {header_length} bytes in a frame of {len(frame)}")
    body_length = len(frame) - 4 - header_length
    if kind == SerializeType.JSON:
        body_at = 4 + header_length
        header = decode_json_header(bytes(frame[4:body_at]))
        command = Command(
            header.code,
            next(opaques) if header.opaque is None else header.opaque,
            header.flag,
            header.version,
            header.language,
            header.remark,
            header.ext,
        )
    elif kind == SerializeType.ROCKETMQ:
        command, body_at = decode_binary_header(bytes(frame), header_length)
    else:
        raise ProtocolError(f"serialize type {kind} (0 is JSON, 1 is ROCKETMQ)")
    if body_length > 0:
        if body_at + body_length > len(frame):
            raise ProtocolError("binary header extends into the body")
        command.body = bytes(frame[body_at : body_at + body_length])
    return command


def encode(command: Command, serialize_type: SerializeType = SerializeType.JSON) -> bytes:
    """The complete frame of a command."""
    if serialize_type is SerializeType.ROCKETMQ:
        return _frame(encode_binary_header(command), command.body, serialize_type)
    ext = command.ext
    header = _JsonHeader(
        code=int(command.code),
        ext_fields=None if ext is None else {k: _clean(v) for k, v in ext.items() if v is not None},
        flag=command.flag,
        language=command.language,
        opaque=command.opaque,
        remark=None if command.remark is None else _clean(command.remark),
        serialize_type="JSON",
        version=command.version,
    )
    return _frame(_encode_header(header), command.body, serialize_type)


def encode_reply(opaque: int, reply: Reply, serialize_type: SerializeType = SerializeType.JSON) -> bytes:
    """The complete frame of a reply."""
    if reply.code == 0 and reply.remark is None and reply.ext is None:
        json = serialize_type is SerializeType.JSON
        return _frame(_SUCCESS % opaque if json else encode_binary_success(opaque), reply.body, serialize_type)
    return encode_versioned_reply(opaque, reply, serialize_type)


def encode_versioned_reply(
    opaque: int, reply: Reply, serialize_type: SerializeType, version: int = VERSION_5_5_0
) -> bytes:
    """The complete frame of a reply with this version in its header."""
    ext: dict[str, str | None] | None = None if reply.ext is None else {**reply.ext}
    command = Command(reply.code, opaque, flag=1, version=version, remark=reply.remark, ext=ext, body=reply.body)
    return encode(command, serialize_type)


def reply_header_parts(reply: Reply) -> tuple[bytes, bytes]:
    """The JSON header of a reply without a body, before and after its opaque."""
    before, name, after = encode_reply(0, reply)[_WORDS.size :].partition(b'"opaque":')
    return before + name, after[1:]


def _frame(header: bytes, body: bytes | None, serialize_type: SerializeType) -> bytes:
    length = len(header)
    word = length | serialize_type << 24
    if body:
        return _WORDS.pack(4 + length + len(body), word) + header + body
    return _WORDS.pack(4 + length, word) + header


def _clean(text: str) -> str:
    # Java: writes a lone surrogate as a question mark
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

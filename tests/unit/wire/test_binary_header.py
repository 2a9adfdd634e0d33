"""The ROCKETMQ header, byte by byte."""

from itertools import count

import pytest

from routebook.errors import ProtocolError
from routebook.wire.codec import decode, encode, encode_reply
from routebook.wire.command import Command, Reply, SerializeType

# Captured from Java: code 105, topic=TopicTest, opaque 2, version 479
ROUTE_REQUEST = bytes.fromhex(
    "0100002900690001df000000020000000000000000000000140005746f70696300000009546f70696354657374"
)


def header_frame(header: bytes, body: bytes = b"", *, length: int | None = None) -> bytes:
    """A frame without its length word; `length` lies about the header's length."""
    return (1 << 24 | (len(header) if length is None else length)).to_bytes(4, "big") + header + body


def fixed(*, code: int = 105, language: int = 0, remark: bytes = b"", ext: bytes = b"") -> bytes:
    return (
        code.to_bytes(2, "big", signed=True)
        + language.to_bytes(1, "big", signed=True)
        + (513).to_bytes(2, "big")
        + bytes(8)
        + len(remark).to_bytes(4, "big")
        + remark
        + len(ext).to_bytes(4, "big")
        + ext
    )


def entry(key: bytes, value: bytes) -> bytes:
    return len(key).to_bytes(2, "big") + key + len(value).to_bytes(4, "big") + value


def test_captured_request_decodes() -> None:
    command = decode(ROUTE_REQUEST, count())
    assert command == Command(code=105, opaque=2, version=479, ext={"topic": "TopicTest"})


def test_captured_request_encodes_to_the_same_bytes() -> None:
    command = Command(code=105, opaque=2, version=479, ext={"topic": "TopicTest"})
    assert encode(command, SerializeType.ROCKETMQ) == bytes.fromhex("0000002d") + ROUTE_REQUEST


def test_success_as_5_5_0_writes_it() -> None:
    header = bytes.fromhex("000000020100000001000000010000000000000000")
    frame = encode_reply(1, Reply(), SerializeType.ROCKETMQ)
    assert frame == (4 + len(header)).to_bytes(4, "big") + header_frame(header)


def test_general_and_short_form_of_success_agree() -> None:
    general = encode(Command(code=0, opaque=7, flag=1, body=b"x"), SerializeType.ROCKETMQ)
    assert encode_reply(7, Reply(body=b"x"), SerializeType.ROCKETMQ) == general


def test_empty_text_is_null() -> None:
    command = decode(header_frame(fixed(ext=entry(b"topic", b""))), count())
    assert command.ext == {"topic": None}


def test_a_null_key_is_dropped() -> None:
    assert decode(header_frame(fixed(ext=entry(b"", b"v"))), count()).ext == {}


def test_unknown_language_is_null() -> None:
    assert decode(header_frame(fixed(language=99)), count()).language is None
    assert decode(header_frame(fixed(language=-1)), count()).language is None
    assert decode(header_frame(fixed(language=9)), count()).language == "GO"


def test_negative_ext_length_means_no_map() -> None:
    header = fixed()[:-4] + (-5).to_bytes(4, "big", signed=True)
    assert decode(header_frame(header), count()).ext is None


def test_invalid_utf8_is_replaced() -> None:
    assert decode(header_frame(fixed(remark=b"\xff")), count()).remark == "\ufffd"


def test_body_follows_where_reading_stopped() -> None:
    # Java reads on in the same buffer: bytes inside the header behind the ext map become the body's first
    command = decode(header_frame(fixed() + b"ab", b"cd", length=len(fixed()) + 2), count())
    assert command.body == b"ab"


def test_codes_beyond_int16_are_truncated() -> None:
    frame = encode(Command(code=200070, opaque=1), SerializeType.ROCKETMQ)
    assert decode(frame[4:], count()).code == 200070 - 3 * 65536


def test_entries_with_null_are_omitted() -> None:
    frame = encode(Command(code=1, opaque=1, ext={"a": None, "b": "c"}), SerializeType.ROCKETMQ)
    assert decode(frame[4:], count()).ext == {"b": "c"}


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"", id="empty"),
        pytest.param(fixed()[:20], id="one byte short"),
        pytest.param(fixed()[:13] + (100).to_bytes(4, "big") + bytes(4), id="remark longer than the header"),
        pytest.param(fixed()[:13] + (-1).to_bytes(4, "big", signed=True) + bytes(4), id="negative remark"),
        pytest.param(fixed()[:17] + (100).to_bytes(4, "big"), id="ext longer than the header"),
        pytest.param(fixed(ext=b"\x00\x09abc"), id="key longer than the map"),
        pytest.param(fixed(ext=b"\xff\xffabc"), id="negative key"),
        pytest.param(fixed(ext=b"\x00\x01a\xff\xff\xff\xff"), id="negative value"),
    ],
)
def test_invalid_headers_are_protocol_errors(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(header_frame(header), count())

"""Frames and JSON headers as Java writes them."""

from itertools import count

import pytest

from routebook.errors import ProtocolError
from routebook.wire.codec import decode, encode, encode_reply
from routebook.wire.command import Command, Reply


def header_of(frame: bytes) -> str:
    length = int.from_bytes(frame[:4], "big")
    assert length == len(frame) - 4
    assert frame[4] == 0
    return frame[8 : 8 + int.from_bytes(frame[5:8], "big")].decode()


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            Reply(),
            '{"code":0,"flag":1,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}',
        ),
        (
            Reply(ext={"changed": "false"}),
            '{"code":0,"extFields":{"changed":"false"},"flag":1,"language":"JAVA","opaque":7,'
            '"serializeTypeCurrentRPC":"JSON","version":513}',
        ),
        (
            Reply(code=3, remark=" request type 9999 not supported"),
            '{"code":3,"flag":1,"language":"JAVA","opaque":7,"remark":" request type 9999 not supported",'
            '"serializeTypeCurrentRPC":"JSON","version":513}',
        ),
        (
            Reply(code=1, ext={}),
            '{"code":1,"extFields":{},"flag":1,"language":"JAVA","opaque":7,'
            '"serializeTypeCurrentRPC":"JSON","version":513}',
        ),
    ],
)
def test_replies_are_java_text(reply: Reply, expected: str) -> None:
    assert header_of(encode_reply(7, reply)) == expected


def test_negative_opaque_is_echoed() -> None:
    assert '"opaque":-2147483648,' in header_of(encode_reply(-(2**31), Reply()))


def test_escapes_are_those_of_fastjson2() -> None:
    text = 'a/b"\\\n\t\b\f\r\x01\x1f\x7f\u2028<é中😀'
    written = header_of(encode_reply(1, Reply(remark=text)))
    assert '"remark":"a/b\\"\\\\\\n\\t\\b\\f\\r\\u0001\\u001f\x7f\u2028<é中😀"' in written


def test_lone_surrogate_is_written_as_question_mark() -> None:
    assert '"remark":"a?b"' in header_of(encode_reply(1, Reply(remark="a\ud800b")))


def test_request_round_trip() -> None:
    command = Command(code=105, opaque=1, version=479, ext={"topic": "TopicTest"}, body=b"x")
    assert decode(encode(command)[4:], count()) == command


def test_a_missing_opaque_is_assigned() -> None:
    opaques = count(40)
    assert decode(b"\0\0\0\2{}", opaques).opaque == 40
    assert decode(b"\0\0\0\2{}", opaques).opaque == 41


def test_empty_body_is_none() -> None:
    assert decode(b"\0\0\0\2{}", count()).body is None


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"\2\0\0\2{}", id="serialize type 2"),
        pytest.param(b"\0\0\0\3{}", id="header longer than the frame"),
        pytest.param(b"\0\0\0\0", id="no header"),
    ],
)
def test_invalid_frames_are_protocol_errors(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(frame, count())

"""Somebody else's first bytes are named, and frames never are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.wire.foreign_protocols import DECIDES_AT, Stranger, answer_to, name_stranger


@pytest.mark.parametrize(
    ("first", "stranger"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Stranger.HTTP),
        (b"GET ", Stranger.HTTP),
        (b"POST /v1/brokers HTTP/1.1\r\n", Stranger.HTTP),
        (b"OPTI", Stranger.HTTP),
        (b"OPTIMISTIC greetings", None),
        (b"DELETE /x", Stranger.HTTP),
        (b"CONNECT ns:9876 HTTP/1.1", Stranger.HTTP),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Stranger.HTTP2),
        (b"PRI ", Stranger.HTTP2),
        (b"PRIVATE", None),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", Stranger.TLS),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Stranger.SSH),
        (b"AMQP\x00\x00\x09\x01", Stranger.AMQP),
        (b"*1\r\n$4\r\nPING\r\n", Stranger.REDIS),
        (b"*** hello ***", None),
        (b"get / http/1.1", None),
        (b"\xff\xff\xff\xff", None),
    ],
)
def test_names_who_is_certain(first: bytes, stranger: Stranger | None) -> None:
    assert name_stranger(first) is stranger


@given(st.binary(min_size=DECIDES_AT - 1))
def test_a_frame_is_no_stranger(rest: bytes) -> None:
    assert name_stranger(b"\x00" + rest) is None


@given(st.sampled_from([b"GET /index HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\n"]), st.data())
def test_the_first_four_bytes_decide(preface: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(DECIDES_AT, len(preface)))
    assert name_stranger(preface[:cut]) is name_stranger(preface)


def test_http_is_told_in_http() -> None:
    answer = answer_to(Stranger.HTTP)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"RocketMQ NameServer" in body


@pytest.mark.parametrize("stranger", [s for s in Stranger if s is not Stranger.HTTP])
def test_others_are_told_nothing(stranger: Stranger) -> None:
    assert answer_to(stranger) == b""

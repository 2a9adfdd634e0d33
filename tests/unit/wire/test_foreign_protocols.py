"""Foreign protocols are recognised by their first bytes; frames never are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.wire.foreign_protocols import (
    MIN_CLIENT_BYTES,
    ForeignProtocol,
    answer_to_client,
    describe_server,
    is_http2_server,
    recognize_client,
)


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ForeignProtocol.HTTP),
        (b"GET ", ForeignProtocol.HTTP),
        (b"POST /v1/brokers HTTP/1.1\r\n", ForeignProtocol.HTTP),
        (b"OPTI", ForeignProtocol.HTTP),
        (b"OPTIMISTIC greetings", None),
        (b"DELETE /x", ForeignProtocol.HTTP),
        (b"CONNECT ns:9876 HTTP/1.1", ForeignProtocol.HTTP),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ForeignProtocol.HTTP2),
        (b"PRI ", ForeignProtocol.HTTP2),
        (b"PRIVATE", None),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", ForeignProtocol.TLS),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ForeignProtocol.SSH),
        (b"AMQP\x00\x00\x09\x01", ForeignProtocol.AMQP),
        (b"*1\r\n$4\r\nPING\r\n", ForeignProtocol.REDIS),
        (b"*** hello ***", None),
        (b"get / http/1.1", None),
        (b"\xff\xff\xff\xff", None),
    ],
)
def test_clients_are_recognised_where_it_is_certain(first: bytes, protocol: ForeignProtocol | None) -> None:
    assert recognize_client(first) is protocol


@given(st.binary(min_size=MIN_CLIENT_BYTES - 1))
def test_a_frame_is_never_foreign(rest: bytes) -> None:
    assert recognize_client(b"\x00" + rest) is None


@given(st.sampled_from([b"GET /index HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\n"]), st.data())
def test_the_first_four_bytes_decide(preface: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(MIN_CLIENT_BYTES, len(preface)))
    assert recognize_client(preface[:cut]) is recognize_client(preface)


@pytest.mark.parametrize(
    ("http_address", "text"), [("127.0.0.1:8876", b"at 127.0.0.1:8876."), (None, b"HTTP is switched off.")]
)
def test_an_http_client_gets_an_http_answer_with_the_address_of_the_http_port(
    http_address: str | None, text: bytes
) -> None:
    answer = answer_to_client(ForeignProtocol.HTTP, http_address)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"RocketMQ NameServer" in body
    assert body.endswith(text + b"\n")


@pytest.mark.parametrize("protocol", [one for one in ForeignProtocol if one is not ForeignProtocol.HTTP])
def test_other_clients_get_no_answer(protocol: ForeignProtocol) -> None:
    assert answer_to_client(protocol, "127.0.0.1:8876") == b""


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "answers HTTP"),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03", "speaks HTTP/2"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "requires TLS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "speaks SSH"),
        (b"-ERR unknown command\r\n", "it sends '-ERR unknown command'"),
        (b"\xff\xfe", "(no frame)"),
    ],
)
def test_servers_are_described(first: bytes, text: str) -> None:
    assert text in describe_server(first, "no frame")
    assert is_http2_server(first) == ("HTTP/2" in text)

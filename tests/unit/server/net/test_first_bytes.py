"""What the first bytes of a connection are taken for, whatever the chunks they come in."""

import ssl
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.errors import ProtocolError
from routebook.server.net.first_bytes import FirstBytes
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import TlsSettings
from routebook.wire.foreign_protocols import ForeignProtocol

FRAME = b'\x00\x00\x00\x1b\x00\x00\x00\x17{"code":224,"opaque":5}'
PROXY = b"PROXY TCP4 203.0.113.9 127.0.0.1 40000 9876\r\n"


def contexts(mode: str = "permissive") -> TlsContexts:
    return TlsContexts(
        TlsSettings(
            mode=mode,
            test_mode=True,
            key_path=None,
            key_password=None,
            cert_path=None,
            need_client_auth="none",
            auth_client=False,
            trust_cert_path=None,
            ciphers=None,
            protocols=None,
        )
    )


PERMISSIVE = contexts()


def client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@given(st.sampled_from([b"", PROXY]), st.lists(st.integers(0, 80), max_size=20))
def test_frames_come_out_whole_in_any_chunks(before: bytes, cuts: list[int]) -> None:
    data = before + FRAME
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    first_bytes = FirstBytes(PERMISSIVE)
    plain = b""
    opened = False
    for start, end in pairwise(places):
        if opened:
            plain += data[start:end]
        elif (taken := first_bytes.take(data[start:end])) is not None:
            opened, plain = True, taken
    assert plain == FRAME
    assert (first_bytes.source, first_bytes.tls, first_bytes.foreign) == (
        "203.0.113.9:40000" if before else None,
        None,
        None,
    )


@pytest.mark.parametrize("before", [b"", PROXY])
def test_a_handshake_begins_tls(before: bytes) -> None:
    first_bytes = FirstBytes(PERMISSIVE)
    assert first_bytes.take(before + client_hello()) is None
    assert first_bytes.tls is not None
    assert first_bytes.tls.outgoing()[0] == 0x16
    assert first_bytes.source == ("203.0.113.9:40000" if before else None)


def test_enforcing_takes_no_plain_text() -> None:
    with pytest.raises(ProtocolError, match="enforcing"):
        FirstBytes(contexts("enforcing")).take(FRAME)
    first_bytes = FirstBytes(contexts("enforcing"))
    assert first_bytes.take(client_hello()) is None
    assert first_bytes.tls is not None


def test_disabled_takes_a_handshake_for_a_strangers_greeting() -> None:
    first_bytes = FirstBytes(contexts("disabled"))
    assert first_bytes.take(client_hello()) is not None
    assert (first_bytes.foreign, first_bytes.tls) == (ForeignProtocol.TLS, None)


@pytest.mark.parametrize("before", [b"", PROXY])
def test_strangers_are_named(before: bytes) -> None:
    first_bytes = FirstBytes(PERMISSIVE)
    assert first_bytes.take(before + b"GET / HTTP/1.1\r\n\r\n") == b"GET / HTTP/1.1\r\n\r\n"
    assert first_bytes.foreign is ForeignProtocol.HTTP


def test_nothing_is_decided_before_there_is_enough() -> None:
    first_bytes = FirstBytes(PERMISSIVE)
    assert first_bytes.take(FRAME[:11]) is None
    assert first_bytes.take(FRAME[11:]) == FRAME
    behind_a_proxy = FirstBytes(PERMISSIVE)
    assert behind_a_proxy.take(PROXY + FRAME[:3]) is None
    assert behind_a_proxy.take(FRAME[3:4]) == FRAME[:4]

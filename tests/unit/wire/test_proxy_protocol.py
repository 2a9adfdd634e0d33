"""PROXY headers as Netty reads them; each case of the two tables was verified with Netty 4.1.130."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.errors import ProtocolError
from routebook.wire.proxy_protocol import NO_HEADER, ProxyHeader, read_proxy_header

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def v2(family: int, addresses: bytes, *, tlvs: bytes = b"", command: int = 0x21) -> bytes:
    block = addresses + tlvs
    return SIGNATURE + bytes([command, family]) + len(block).to_bytes(2, "big") + block


TCP4 = bytes([10, 1, 2, 3, 10, 0, 0, 1]) + (40000).to_bytes(2, "big") + (9876).to_bytes(2, "big")
TCP6 = socket.inet_pton(socket.AF_INET6, "2001:db8::7") * 2 + (40000).to_bytes(2, "big") + (9876).to_bytes(2, "big")
UNIX = b"/run/a".ljust(108, b"\0") + b"/run/b".ljust(108, b"\0")


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (b"PROXY TCP4 10.1.2.3 10.0.0.1 40000 9876\r\n", "10.1.2.3:40000"),
        (b"PROXY TCP4 010.1.2.3 10.0.0.1 +40000 9876\r\n", "10.1.2.3:40000"),
        (b"PROXY TCP4 10.1.2.3 10.0.0.1 40000 9876  \r\n", "10.1.2.3:40000"),
        (b"PROXY TCP6 2001:db8::7 ::1 40000 9876\r\n", "[2001:db8::7]:40000"),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN " + b"x" * 94 + b"\r\n", None),
        (v2(0x11, TCP4), "10.1.2.3:40000"),
        (v2(0x12, TCP4), "10.1.2.3:40000"),
        (v2(0x21, TCP6), "[2001:db8::7]:40000"),
        (v2(0x31, UNIX), None),
        (v2(0x11, TCP4[:-4] + b"\0\0\0\1"), None),
        (v2(0x00, b""), None),
        (v2(0x11, TCP4, command=0x20), None),
        (v2(0x99, b"anything", command=0x20), None),
        (v2(0x11, TCP4, tlvs=b"\x01\x00\x02h2\x04\x00\x00" + b"\xe1\x00\x03abc"), "10.1.2.3:40000"),
        (v2(0x11, TCP4, tlvs=b"\x20\x00\x0a\x01\x00\x00\x00\x00\x21\x00\x02hi"), "10.1.2.3:40000"),
        (v2(0x11, TCP4, tlvs=b"\x01\xff\xff"), "10.1.2.3:40000"),
    ],
)
def test_valid_headers_are_read(header: bytes, source: str | None) -> None:
    assert read_proxy_header(header + b"\x00\x00\x00\x10rest") == ProxyHeader(len(header), source)


@pytest.mark.parametrize(
    "header",
    [
        b"PROXY UDP4 10.1.2.3 10.0.0.1 1 2\r\n",
        b"PROXYX TCP4 10.1.2.3 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.1 1\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.1 1 2 3\r\n",
        b"PROXY TCP4 10.1.2 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 10.1.2.256 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 10.1.2.3 ::1 1 2\r\n",
        b"PROXY TCP6 10.1.2.3 10.0.0.1 1 2\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.1 0 2\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.1 1 65536\r\n",
        b"PROXY TCP4 10.1.2.3 10.0.0.1 one 2\r\n",
        b"PROXY UNKNOWN " + b"x" * 95 + b"\r\n",
        b"PROXY " + b"x" * 200,
        v2(0x11, TCP4, command=0x22),
        v2(0x11, TCP4, command=0x11),
        v2(0x11, TCP4, command=0x31),
        v2(0x01, TCP4),
        v2(0x41, TCP4),
        v2(0x11, TCP4[:-1]),
        v2(0x21, TCP4),
        v2(0x31, UNIX[:-1]),
        v2(0x11, TCP4, tlvs=b"\x01\x00\x03h2"),
        v2(0x11, TCP4, tlvs=b"\x20\x00\x04\x01\x00\x00\x00"),
        v2(0x11, TCP4, tlvs=b"\x20\x00\x0a\x01\x00\x00\x00\x00\x21\x00\x03hi"),
    ],
)
def test_invalid_headers_are_rejected(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_proxy_header(header)


def test_deep_nesting_of_tlvs_is_refused() -> None:
    tlv = b""
    for _ in range(200):
        content = b"\x01\x00\x00\x00\x00" + tlv
        tlv = b"\x20" + len(content).to_bytes(2, "big") + content
    with pytest.raises(ProtocolError, match="nested"):
        read_proxy_header(v2(0x11, TCP4, tlvs=tlv))


@pytest.mark.parametrize("start", [b"", b"\x00\x00\x00\x06", b"GET / HTTP/", b"PROXY", b"\r\n\r\n"])
def test_twelve_bytes_are_needed_in_any_case(start: bytes) -> None:
    assert read_proxy_header(start) is None


@pytest.mark.parametrize(
    "start", [b"GET / HTTP/1", b'\x00\x00\x00\x87\x00\x00\x00\x83{"co', b"\x16\x03\x01" + b"\0" * 9]
)
def test_no_header(start: bytes) -> None:
    assert read_proxy_header(start) is NO_HEADER


@given(
    st.sampled_from([b"PROXY TCP4 10.1.2.3 10.0.0.1 40000 9876\r\n", v2(0x21, TCP6, tlvs=b"\x04\x00\x01\x00")]),
    st.data(),
)
def test_an_incomplete_header_needs_more_bytes(header: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(header) - 1))
    assert read_proxy_header(header[:cut]) is None


@given(
    st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, SIGNATURE + b"\x21\x11\x00"]), st.binary(max_size=400)
)
def test_any_bytes_are_read_or_rejected(prefix: bytes, rest: bytes) -> None:
    try:
        header = read_proxy_header(prefix + rest)
    except ProtocolError:
        return
    assert header is None or header.length <= len(prefix + rest)

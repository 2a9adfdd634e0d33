"""Recognises foreign protocols by their first bytes: of clients on the NameServer port, and of servers elsewhere."""

from enum import Enum
from typing import Final

_HTTP_METHODS: Final = (
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"TRACE ",
    b"CONNECT ",
)
_TLS_HANDSHAKE: Final = b"\x16\x03"
_TLS_ALERT: Final = b"\x15\x03"
_SSH: Final = b"SSH-"
_HTTP2_SETTINGS: Final = b"\x04\x00\x00\x00\x00\x00"  # bytes 3 to 8 of the first frame of an HTTP/2 server

MIN_CLIENT_BYTES: Final = 4
"""`recognize_client` needs this many bytes. The length of a frame takes as many."""

MAX_SERVER_BYTES: Final = 64
"""`describe_server` uses at most this many bytes."""


class ForeignProtocol(Enum):
    """The protocol of a client on the NameServer port; the value is a clause for the log."""

    HTTP = "speaks HTTP: this port serves RocketMQ's remoting protocol only; point the browser or check elsewhere"
    HTTP2 = (
        "speaks HTTP/2, as gRPC clients do: a RocketMQ 5.x gRPC client must use the endpoint of a RocketMQ proxy, "
        "not a NameServer address"
    )
    TLS = "speaks TLS, which is switched off here (routebook.tls.mode=disabled)"
    SSH = "speaks SSH: this is a RocketMQ NameServer port"
    AMQP = "speaks AMQP: this is a RocketMQ NameServer port"
    REDIS = "speaks Redis: this is a RocketMQ NameServer port"


def recognize_client(first: bytes) -> ForeignProtocol | None:
    """Return the protocol of a client by its first bytes (at least MIN_CLIENT_BYTES); None if it is not certain."""
    if first[0] == 0:  # a frame: its length is below 16 MiB, so the first byte is zero
        return None
    if _matches(first, b"PRI * HTTP/2"):
        return ForeignProtocol.HTTP2
    if any(_matches(first, method) for method in _HTTP_METHODS):
        return ForeignProtocol.HTTP
    if first.startswith(_TLS_HANDSHAKE):
        return ForeignProtocol.TLS
    if first.startswith(_SSH):
        return ForeignProtocol.SSH
    if first.startswith(b"AMQP"):
        return ForeignProtocol.AMQP
    if first[:1] == b"*" and first[1:2].isdigit() and b"\r\n$" in first[:8]:
        return ForeignProtocol.REDIS
    return None


def _matches(first: bytes, preface: bytes) -> bool:
    """Whether `first`, which may be shorter, starts like the preface."""
    return preface.startswith(first[: len(preface)])


def answer_to_client(protocol: ForeignProtocol, http_address: str | None) -> bytes:
    """Return what is written before the connection is closed: an answer to HTTP clients, nothing to others.

    `http_address` is where this server listens for HTTP, if it does.
    """
    if protocol is not ForeignProtocol.HTTP:
        return b""
    http = "HTTP is switched off" if http_address is None else f"the console and the HTTP API are at {http_address}"
    text = f"This port of the RocketMQ NameServer serves RocketMQ's remoting protocol, not HTTP; {http}.\n".encode()
    return (
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(text)
    ) + text


def is_http2_server(first: bytes) -> bool:
    """Whether these are HTTP/2 settings, which could also be the start of a long frame."""
    return first[3:9] == _HTTP2_SETTINGS


def describe_server(first: bytes, reason: str) -> str:
    """Return a clause about a server that sent these first bytes instead of a frame; `reason` if they are unknown."""
    if first.startswith(b"HTTP/"):
        return "answers HTTP, so this is a web server's port and not a NameServer's"
    if is_http2_server(first):
        return "speaks HTTP/2, as a RocketMQ proxy's gRPC port does; give the address of a NameServer"
    if first.startswith(_TLS_ALERT):
        return "requires TLS: connect with TLS"
    if first.startswith(_SSH):
        return "speaks SSH, not RocketMQ's remoting protocol"
    line = first.split(b"\n", 1)[0].strip()
    if len(line) >= 4 and all(0x20 <= byte < 0x7F for byte in line):
        return f"does not speak RocketMQ's remoting protocol: it sends {line.decode()!r}"
    return f"does not speak RocketMQ's remoting protocol ({reason})"

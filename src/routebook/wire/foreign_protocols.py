"""Somebody else's protocol on the NameServer port: what its first bytes give away, and what to say about it."""

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

DECIDES_AT: Final = 4
"""So many bytes are needed to name a stranger. A frame begins with a length that is told by then, too."""


class Stranger(Enum):
    """Who was certainly meant, in words for the log."""

    HTTP = "speaks HTTP: this port serves RocketMQ's remoting protocol only; point the browser or check elsewhere"
    HTTP2 = (
        "speaks HTTP/2, as gRPC clients do: a RocketMQ 5.x gRPC client must use the endpoint of a RocketMQ proxy, "
        "not a NameServer address"
    )
    TLS = "speaks TLS, which is switched off here (routebook.tls.mode=disabled)"
    SSH = "speaks SSH: this is a RocketMQ NameServer port"
    AMQP = "speaks AMQP: this is a RocketMQ NameServer port"
    REDIS = "speaks Redis: this is a RocketMQ NameServer port"


def name_stranger(first: bytes) -> Stranger | None:
    """Who sent these first bytes (at least DECIDES_AT), or None where that is not certain."""
    if first[0] == 0:  # a frame: its length is below 16 MiB, so the first byte of every frame is zero
        return None
    if _begins(first, b"PRI * HTTP/2"):
        return Stranger.HTTP2
    if any(_begins(first, method) for method in _HTTP_METHODS):
        return Stranger.HTTP
    if first[:2] == b"\x16\x03":
        return Stranger.TLS
    if first[:4] == b"SSH-":
        return Stranger.SSH
    if first[:4] == b"AMQP":
        return Stranger.AMQP
    if first[:1] == b"*" and first[1:2].isdigit() and b"\r\n$" in first[:8]:
        return Stranger.REDIS
    return None


def _begins(first: bytes, preface: bytes) -> bool:
    """`first` may be shorter than the preface."""
    return preface.startswith(first[: len(preface)])


def answer_to(stranger: Stranger) -> bytes:
    """What is written before the close: something only where the stranger can read it."""
    if stranger is not Stranger.HTTP:
        return b""
    text = (
        b"This is the port of a RocketMQ NameServer. It speaks RocketMQ's remoting protocol, not HTTP, "
        b"and this NameServer serves HTTP on no port.\n"
    )
    return (
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(text)
    ) + text

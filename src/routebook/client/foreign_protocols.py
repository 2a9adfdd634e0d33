"""Something else listens where a NameServer should: what its first bytes give away, in words for people."""

from typing import Final

_TLS_ALERT: Final = b"\x15\x03"
_HTTP2_SETTINGS: Final = b"\x04\x00\x00\x00\x00\x00"  # bytes 3 to 8 of what an HTTP/2 server says first
TELLING_BYTES: Final = 64


def speaks_http2(first: bytes) -> bool:
    """Whether these first bytes are HTTP/2 settings; they could pass for the beginning of a long frame."""
    return first[3:9] == _HTTP2_SETTINGS


def name_impostor(first: bytes, reason: str) -> str:
    """A clause that says what was met: by its first bytes where they tell, else `reason`, why it is no frame."""
    if first.startswith(b"HTTP/"):
        return "answers HTTP, so this is a web server's port and not a NameServer's"
    if speaks_http2(first):
        return "speaks HTTP/2, as a RocketMQ proxy's gRPC port does; give the address of a NameServer"
    if first.startswith(_TLS_ALERT):
        return "wants TLS: connect with TLS"
    if first.startswith(b"SSH-"):
        return "speaks SSH, not RocketMQ's remoting protocol"
    line = first.split(b"\n", 1)[0].strip()
    if len(line) >= 4 and all(0x20 <= byte < 0x7F for byte in line):
        return f"does not speak RocketMQ's remoting protocol: it says {line.decode()!r}"
    return f"does not speak RocketMQ's remoting protocol ({reason})"

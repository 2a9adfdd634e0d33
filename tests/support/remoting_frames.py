"""RocketMQ frames on a blocking socket, independent of Routebook's own codec.

A frame is `length:4 | type:1 headerLength:3 | header | body`, all big-endian.
"""

import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

TYPE_JSON: Final = 0
TYPE_BINARY: Final = 1
ANSWER_TIMEOUT_S: Final = 60.0  # generous: a busy machine is no failure


class Silence(Exception):
    """No reply in time, and the connection is still open."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request, in either header form."""

    code: int
    opaque: int = 1
    ext: Mapping[str, str] | None = None
    body: bytes = b""
    flag: int = 0
    version: int = 513
    binary: bool = False

    def encode(self) -> bytes:
        if self.binary:
            return frame(self._binary_header(), self.body, header_type=TYPE_BINARY)
        return frame(self._json_header(), self.body)

    def _json_header(self) -> bytes:
        fields: dict[str, Any] = {"code": self.code}
        if self.ext is not None:
            fields["extFields"] = dict(self.ext)
        fields |= {"flag": self.flag, "language": "JAVA", "opaque": self.opaque}
        fields |= {"serializeTypeCurrentRPC": "JSON", "version": self.version}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def _binary_header(self) -> bytes:
        fixed = struct.pack(">hbhii", self.code, 0, self.version, self.opaque, self.flag)
        entries = b""
        for name, value in (self.ext or {}).items():
            key_bytes, value_bytes = name.encode(), value.encode("utf-8", "surrogatepass")
            entries += struct.pack(">h", len(key_bytes)) + key_bytes + struct.pack(">i", len(value_bytes)) + value_bytes
        return fixed + struct.pack(">i", 0) + struct.pack(">i", len(entries)) + entries


def frame(header: bytes, body: bytes = b"", *, header_type: int = TYPE_JSON) -> bytes:
    """A frame with correct length words around any header and body."""
    return struct.pack(">iI", 4 + len(header) + len(body), header_type << 24 | len(header)) + header + body


@dataclass(frozen=True)
class Reply:
    """A received frame with its parsed header (the servers under test reply in JSON)."""

    raw: bytes
    header: Mapping[str, Any]
    body: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        word = int.from_bytes(raw[4:8], "big")
        header_type, header_length = word >> 24, word & 0xFFFFFF
        if header_type != TYPE_JSON:
            raise AssertionError(f"an answer with header type {header_type}: {raw.hex()}")
        return cls(raw, json.loads(raw[8 : 8 + header_length]), raw[8 + header_length :])

    @property
    def code(self) -> int:
        return int(self.header["code"])

    @property
    def ext(self) -> Mapping[str, str]:
        ext: Mapping[str, str] = self.header.get("extFields", {})
        return ext

    @property
    def remark(self) -> str | None:
        remark: str | None = self.header.get("remark")
        return remark


def split_frames(data: bytes) -> list[bytes]:
    """All frames in `data`; an incomplete frame is an error."""
    frames: list[bytes] = []
    while data:
        size = 4 + int.from_bytes(data[:4], "big")
        if len(data) < size:
            raise AssertionError(f"{len(data)} bytes left over: {data.hex()}")
        frames.append(data[:size])
        data = data[size:]
    return frames


class Link:
    """One connection to a server: sends bytes, receives frames."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=ANSWER_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = b""

    def send(self, data: bytes) -> bool:
        """Send everything; false if the server has closed the connection."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def receive(self, *, timeout_s: float = ANSWER_TIMEOUT_S) -> bytes | None:
        """The next frame; None if the server closes. Raises Silence if neither happens in time."""
        deadline = time.monotonic() + timeout_s
        while len(self._pending) < 4 or len(self._pending) < 4 + int.from_bytes(self._pending[:4], "big"):
            try:
                self._socket.settimeout(max(0.001, deadline - time.monotonic()))
                chunk = self._socket.recv(1 << 16)
            except TimeoutError:
                raise Silence from None
            except ConnectionResetError:
                return None
            if not chunk:
                return None
            self._pending += chunk
        size = 4 + int.from_bytes(self._pending[:4], "big")
        whole, self._pending = self._pending[:size], self._pending[size:]
        return whole

    @property
    def leftover(self) -> bytes:
        """Received bytes that are not a complete frame."""
        return self._pending

    def ask(self, request: Request) -> Reply:
        """Send a request and read its answer."""
        self.send(request.encode())
        while (raw := self.receive()) is not None:
            reply = Reply.parse(raw)
            if reply.header["opaque"] == request.opaque:
                return reply
        raise AssertionError(f"the server closed the connection on {request}")

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""One connection's side of the protocol: bytes in, commands out; it cuts frames and knows no socket."""

from collections.abc import Iterator
from itertools import count
from typing import Final

from routebook.errors import ProtocolError
from routebook.wire.codec import decode
from routebook.wire.command import Command

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024  # with the length word, as Java counts


class Peer:
    """Feed it bytes in any chunks, take commands until there is none."""

    __slots__ = ("_at", "_buffer", "_opaques")

    def __init__(self, opaques: Iterator[int] | None = None) -> None:
        self._buffer: bytes | bytearray = b""
        self._at = 0
        self._opaques = opaques if opaques is not None else count()

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        if self._at == len(self._buffer):
            self._buffer = data
        elif isinstance(self._buffer, bytearray):
            del self._buffer[: self._at]
            self._buffer += data
        else:
            self._buffer = bytearray(memoryview(self._buffer)[self._at :])
            self._buffer += data
        self._at = 0

    @property
    def buffered(self) -> int:
        """Bytes that arrived and are not yet part of a command."""
        return len(self._buffer) - self._at

    def next_command(self) -> Command | None:
        """The next whole command, None if more bytes are needed; ProtocolError if this can never become one."""
        buffer, at = self._buffer, self._at
        have = len(buffer) - at
        if have < 4:
            return None
        length = int.from_bytes(buffer[at : at + 4], "big", signed=True)
        if not 4 <= length <= MAX_FRAME_BYTES - 4:
            raise ProtocolError(f"frame of {length} bytes (at least 4, at most {MAX_FRAME_BYTES - 4})")
        if have < 4 + length:
            return None
        end = at + 4 + length
        frame = bytes(buffer[at + 4 : end])
        if end == len(buffer):
            self._buffer, self._at = b"", 0
        else:
            self._at = end
        return decode(frame, self._opaques)

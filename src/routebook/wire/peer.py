"""The receiving side of one connection: bytes in, commands out, without I/O."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from routebook.errors import FrameTooLong, ProtocolError
from routebook.wire.codec import decode
from routebook.wire.command import Command

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024  # with the length word, as Java counts
_LONG_BYTES: Final = 64 * 1024


class Peer:
    """Splits a byte stream into commands: `feed` bytes in any chunks, call `next_command` until it returns None."""

    __slots__ = ("_at", "_max_length", "_on_buffered", "_opaques", "arrived", "frames_in_parts", "held")

    def __init__(
        self,
        opaques: Iterator[int] | None = None,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        on_buffered: Callable[[int], None] | None = None,
    ) -> None:
        """`on_buffered` is called with the change in the number of bytes of an incomplete frame."""
        self.arrived: bytes | bytearray = b""  # received; from `_at` on not yet part of a command
        self._at = 0
        self._opaques = opaques if opaques is not None else count()
        self._max_length = max_frame_bytes - 4
        self._on_buffered = on_buffered
        self.held = 0  # bytes of an incomplete frame
        self.frames_in_parts = 0  # completed frames that arrived in several parts

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        if self._at == len(self.arrived):
            self.arrived = data
        elif isinstance(self.arrived, bytearray):
            del self.arrived[: self._at]
            self.arrived += data
        else:
            self.arrived = bytearray(memoryview(self.arrived)[self._at :])
            self.arrived += data
        self._at = 0

    @property
    def buffered(self) -> int:
        """The number of received bytes that are not yet part of a command."""
        return len(self.arrived) - self._at

    def next_command(self) -> Command | None:
        """The next command; None if more bytes are needed. Raises ProtocolError if the bytes are invalid."""
        buffer, at = self.arrived, self._at
        have = len(buffer) - at
        if have < 4:
            if have:
                self._wait(have)
            return None
        length = int.from_bytes(buffer[at : at + 4], "big", signed=True)
        if not 4 <= length <= self._max_length:
            error = FrameTooLong if length > self._max_length else ProtocolError
            raise error(f"frame of {length} bytes (at least 4, at most {self._max_length})")
        if have < 4 + length:
            self._wait(have)
            return None
        if self.held:
            self.frames_in_parts += 1
            self.release()
        end = at + 4 + length
        self.skip_to(end)
        if length < _LONG_BYTES:
            return decode(bytes(buffer[at + 4 : end]), self._opaques)
        with memoryview(buffer) as whole, whole[at + 4 : end] as frame:  # copies a long frame only once
            return decode(frame, self._opaques)

    @property
    def rest(self) -> tuple[bytes | bytearray, int]:
        """The received bytes, and the position from which on they are not yet part of a command."""
        return self.arrived, self._at

    def skip_to(self, at: int) -> None:
        """Skip the commands up to this position, which were handled by the caller."""
        if at == len(self.arrived):
            self.arrived, self._at = b"", 0
        else:
            self._at = at

    def release(self) -> None:
        """Report that no bytes of an incomplete frame are buffered any more."""
        held, self.held = self.held, 0
        if self._on_buffered is not None and held:
            self._on_buffered(-held)

    def _wait(self, have: int) -> None:
        more, self.held = have - self.held, have
        if self._on_buffered is not None:
            self._on_buffered(more)

"""One connection's side of the protocol: bytes in, commands out; it cuts frames and knows no socket."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from routebook.errors import FrameTooLong, ProtocolError
from routebook.wire.codec import decode
from routebook.wire.command import Command

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024  # with the length word, as Java counts
_LONG_BYTES: Final = 64 * 1024


class Peer:
    """Feed it bytes in any chunks, take commands until there is none."""

    __slots__ = ("_at", "_hold", "_longest", "_opaques", "arrived", "frames_in_parts", "held")

    def __init__(
        self,
        opaques: Iterator[int] | None = None,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        hold: Callable[[int], None] | None = None,
    ) -> None:
        """`hold` is told how many bytes more, or fewer, wait for the rest of their frame."""
        self.arrived: bytes | bytearray = b""  # and not yet part of a command, but for what stands before `_at`
        self._at = 0
        self._opaques = opaques if opaques is not None else count()
        self._longest = max_frame_bytes - 4
        self._hold = hold
        self.held = 0  # bytes of a frame that is not whole yet
        self.frames_in_parts = 0  # frames that had to be waited for, and became whole

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
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
        """Bytes that arrived and are not yet part of a command."""
        return len(self.arrived) - self._at

    def next_command(self) -> Command | None:
        """The next whole command, None if more bytes are needed; ProtocolError if this can never become one."""
        buffer, at = self.arrived, self._at
        have = len(buffer) - at
        if have < 4:
            if have:
                self._wait(have)
            return None
        length = int.from_bytes(buffer[at : at + 4], "big", signed=True)
        if not 4 <= length <= self._longest:
            error = FrameTooLong if length > self._longest else ProtocolError
            raise error(f"frame of {length} bytes (at least 4, at most {self._longest})")
        if have < 4 + length:
            self._wait(have)
            return None
        if self.held:
            self.frames_in_parts += 1
            self.let_go()
        end = at + 4 + length
        self.skip_to(end)
        if length < _LONG_BYTES:
            return decode(bytes(buffer[at + 4 : end]), self._opaques)
        with memoryview(buffer) as whole, whole[at + 4 : end] as frame:  # so that what is long is copied once
            return decode(frame, self._opaques)

    @property
    def rest(self) -> tuple[bytes | bytearray, int]:
        """What arrived, and from where on it is not yet part of a command."""
        return self.arrived, self._at

    def skip_to(self, at: int) -> None:
        """Somebody has read the whole commands up to there."""
        if at == len(self.arrived):
            self.arrived, self._at = b"", 0
        else:
            self._at = at

    def let_go(self) -> None:
        """Nothing is waited for any more."""
        held, self.held = self.held, 0
        if self._hold is not None and held:
            self._hold(-held)

    def _wait(self, have: int) -> None:
        more, self.held = have - self.held, have
        if self._hold is not None:
            self._hold(more)

"""Flow control: write-buffer watermarks, pausing of reading, and the memory that unread answers take.

asyncio calls `pause_writing` when the write buffer of a connection exceeds the high-water mark. From then on the server
neither reads from that connection nor dispatches its waiting requests, until the buffer is below the low-water mark.
"""

import asyncio
import fcntl
import sys
import termios
from collections.abc import Callable
from typing import Final

from routebook.server.net.outbox import Outbox
from routebook.settings import Settings

FLUSH_BYTES: Final = 64 * 1024  # flush threshold; keeps the write buffer small enough for backpressure to work
TURN_NS: Final = 2_000_000  # after this time other connections have their turn
MAX_DEFERRED: Final = 64  # deferred answers per connection
_HIGH_WATER: Final = 64 * 1024  # Netty's defaults
_LOW_WATER: Final = 32 * 1024


def watermarks(settings: Settings) -> tuple[int, int]:
    """Return the high and the low watermark in bytes. As in Java, the settings count only if both are positive."""
    high, low = settings.write_buffer_high_water_mark, settings.write_buffer_low_water_mark
    return (high, min(low, high)) if high > 0 and low > 0 else (_HIGH_WATER, _LOW_WATER)


class Buffers:
    """Bytes in memory for all connections: incomplete frames and unread answers."""

    __slots__ = ("_free_memory", "_max_bytes", "held")

    def __init__(self, max_bytes: int, free_memory: Callable[[], None]) -> None:
        """`free_memory` is called when `held` exceeds `max_bytes` (0: no limit); it closes connections."""
        self._max_bytes = max_bytes or 1 << 62
        self._free_memory = free_memory
        self.held = 0

    def hold(self, more: int) -> None:
        """Add `more` bytes; a negative number releases them."""
        self.held += more
        if more > 0 and self.held > self._max_bytes:
            self._free_memory()

    @property
    def is_full(self) -> bool:
        return self.held > self._max_bytes


class FlowControl:
    """Writes the answers of one connection and pauses reading while the peer does not read them."""

    __slots__ = ("_buffers", "_outbox", "_transport", "deferred", "encrypt", "in_order", "is_blocked", "unread")

    def __init__(self, transport: asyncio.Transport, outbox: Outbox, buffers: Buffers, marks: tuple[int, int]) -> None:
        self._transport = transport
        self._outbox = outbox
        self._buffers = buffers
        self.encrypt: Callable[[bytes], bytes] | None = None
        self.is_blocked = False  # the write buffer exceeded the high-water mark
        self.unread = 0  # bytes of the write buffer that count against `buffers`
        self.deferred = 0  # answers that wait for a disk or another server
        self.in_order: int | None = None  # opaque of the one that the following requests wait for
        transport.set_write_buffer_limits(high=marks[0], low=marks[1])

    @property
    def write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def write(self, pieces: list[bytes]) -> None:
        """Write answers; the outbox sends short ones together with those of other connections."""
        if not any(pieces) or self._transport.is_closing():
            return
        if self.encrypt is not None:
            pieces = [self.encrypt(b"".join(pieces))]
        self._outbox.put(self._transport, pieces)

    def flush(self) -> bool:
        """Send what is in the outbox. Return whether the peer reads its answers."""
        self._outbox.flush()
        return not self.is_blocked

    def block(self) -> None:
        """Pause reading: the peer does not read its answers."""
        self.is_blocked = True
        self.pause_reading()
        self.count_unread()

    def unblock(self) -> None:
        self.is_blocked = False
        self.release()

    def count_unread(self) -> None:
        """Count the write buffer against `buffers` while the peer does not read."""
        if self.is_blocked:
            self._set_unread(self.write_buffer_size)

    def release(self) -> None:
        """Nothing of this connection counts against `buffers` any more."""
        self._set_unread(0)

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def _set_unread(self, size: int) -> None:
        more, self.unread = size - self.unread, size
        if more:
            self._buffers.hold(more)


def bytes_to_read(transport: asyncio.Transport) -> int:
    """Return how many bytes have arrived in the buffer of the socket."""
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return 0
    return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)

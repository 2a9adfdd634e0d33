"""A transport that keeps what is written to it."""

import asyncio
from collections.abc import Iterable


class FakeTransport(asyncio.Transport):
    """`write_buffer_size` is what the peer has not read; set it to simulate a slow peer."""

    def __init__(self, address: tuple[str, int] = ("127.0.0.1", 5000)) -> None:
        super().__init__({"peername": address})
        self.written = b""
        self.write_buffer_size = 0
        self.has_eof = False
        self.is_aborted = False
        self.limits: tuple[int | None, int | None] = (None, None)
        self._is_reading = True
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        for data in list_of_data:
            self.write(data)

    def write_eof(self) -> None:
        self.has_eof = True

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    def abort(self) -> None:
        self._is_closing = self.is_aborted = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.limits = (high, low)

    def get_write_buffer_size(self) -> int:
        return self.write_buffer_size

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True

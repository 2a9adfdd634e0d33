"""The open connections of the NameServer port, what they have transferred, and how they are drained."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from routebook.events import DownReason
from routebook.server.net.connection_state import State
from routebook.server.observe.latency import Latencies
from routebook.server.observe.request_counts import RequestCounts

if TYPE_CHECKING:
    from routebook.server.net.connection import Connection

_LINGER_S: Final = 1.0  # for a peer that has received everything and does not close its side


class Traffic:
    """The open connections and what they have transferred."""

    __slots__ = ("accepted", "all_closed", "connections", "counts", "is_stopping", "latencies")

    def __init__(self) -> None:
        self.connections: dict[int, Connection] = {}
        self.accepted = 0
        self.counts = RequestCounts()
        self.latencies = Latencies()
        self.all_closed = asyncio.Event()
        self.all_closed.set()
        self.is_stopping = False  # connections close because the server stops, not because brokers do

    @property
    def blocked(self) -> int:
        """How many connections have a peer that does not read its answers."""
        return sum(connection.flow.is_blocked for connection in self.connections.values())

    def add(self, number: int, connection: "Connection") -> None:
        self.connections[number] = connection
        self.all_closed.clear()

    def remove(self, number: int) -> None:
        del self.connections[number]
        if not self.connections:
            self.all_closed.set()

    async def wait_for_close(self, timeout_s: float) -> None:
        """Wait until no connection is open, or until the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.all_closed.wait()

    async def drain(self, timeout_s: float) -> None:
        """Answer everything that has arrived, then close all connections; by force after the timeout."""
        self.is_stopping = True
        for connection in list(self.connections.values()):
            connection.drain()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while self.connections and (left := deadline - loop.time()) > 0:
            await self.wait_for_close(min(left, _LINGER_S))
            for connection in list(self.connections.values()):
                if connection.state is State.CLOSING and not connection.flow.write_buffer_size:
                    connection.close(DownReason.CLOSED)
        for connection in list(self.connections.values()):
            connection.close(DownReason.CLOSED)
        await asyncio.sleep(0)

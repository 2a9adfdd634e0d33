"""A simulated broker's connection to one NameServer, which faults can cut or drop."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Final

import msgspec

from routebook.client.addresses import Address
from routebook.client.dial import open_link
from routebook.client.link import Link
from routebook.client.signing import Credentials, signed
from routebook.errors import ConnectionFailed, TimedOut
from routebook.fleet.live.time_scale import TimeScale
from routebook.wire.command import Command, SerializeType

_OPAQUES: Final = 1 << 31
_CONNECT_S: Final = 3.0
_MIN_TIMEOUT_S: Final = 1.0  # real time: a fast time scale does not make the machine faster


class TrafficCounters:
    """Counters of requests and answers by code, and of failures, for a whole fleet."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.answers: Counter[int] = Counter()
        self.timeouts = 0
        self.failures = 0  # connections that could not be opened, or broke during a request
        self.connected = 0

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())


class LiveConnection:
    """One TCP connection at a time. Requests that cannot be delivered are lost, as in a real broker."""

    def __init__(
        self,
        address: Address,
        *,
        time_scale: TimeScale,
        traffic: TrafficCounters,
        serialize_type: SerializeType = SerializeType.JSON,
        opaques: Iterator[int] | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.address = address
        self._time_scale = time_scale
        self._traffic = traffic
        self._serialize_type = serialize_type
        self._opaques = opaques or count()
        self._credentials = credentials
        self._link: Link | None = None
        self._healed = asyncio.Event()
        self._healed.set()
        self._abandoned = False  # closed by the broker during a partition

    @property
    def is_open(self) -> bool:
        """Whether the connection is open from the broker's view."""
        return self._link is not None and not self._link.closed and not self._abandoned

    @property
    def is_cut(self) -> bool:
        return not self._healed.is_set()

    async def connect(self) -> bool:
        """Open the connection if needed; return whether it is open."""
        if self.is_open:
            return True
        if not self._healed.is_set():
            return False
        try:
            link = await open_link(self.address, connect_timeout_s=_CONNECT_S)
        except ConnectionFailed:
            self._traffic.failures += 1
            return False
        if not self._healed.is_set():  # cut while connecting
            await link.aclose()
            return False
        self._link = link
        self._abandoned = False
        self._traffic.connected += 1
        return True

    async def request(self, command: Command, *, timeout_ms: float) -> Command | None:
        """Return the answer, or None. Java: a call that times out closes its connection."""
        link = self._link
        if link is None or not self.is_open:
            return None
        try:
            async with asyncio.timeout(max(self._time_scale.seconds(timeout_ms), _MIN_TIMEOUT_S)):
                await self._healed.wait()  # during a partition the request is in transit
                self._traffic.requests[command.code] += 1
                answer = await link.ask(self._stamped(command), self._serialize_type)
        except TimeoutError:
            self._traffic.timeouts += 1
            self._abandon(link)
            return None
        except ConnectionFailed:
            self._traffic.failures += 1
            return None
        self._traffic.answers[answer.code] += 1
        return answer

    async def send_oneway(self, command: Command) -> None:
        """Send a one-way request."""
        link = self._link
        if link is None or not self.is_open or self.is_cut:
            return
        try:
            async with asyncio.timeout(_CONNECT_S):
                self._traffic.requests[command.code] += 1
                await link.send(self._stamped(command), self._serialize_type)
        except (ConnectionFailed, TimeoutError):
            self._traffic.failures += 1

    def cut(self) -> None:
        """Start a network partition: nothing gets through, but both sides keep the connection."""
        self._healed.clear()

    async def heal(self) -> None:
        """End the partition. The close of an abandoned connection now gets through."""
        self._healed.set()
        if self._abandoned:
            await self.close()

    def reset(self) -> None:
        """Reset to the state of a new process: not cut, not connected."""
        self.drop()
        self._healed.set()
        self._abandoned = False

    def drop(self) -> None:
        """Abort the connection, as at the end of a process."""
        link, self._link = self._link, None
        if link is not None:
            link.fail(TimedOut(str(self.address), "dropped by the simulated broker"))

    async def close(self) -> None:
        """Close the connection cleanly."""
        link, self._link = self._link, None
        self._abandoned = False
        if link is not None:
            await link.aclose()

    def _abandon(self, link: Link) -> None:
        if self.is_cut:
            self._abandoned = True  # the close does not get through, either
        elif link is self._link:
            self.drop()

    def _stamped(self, command: Command) -> Command:
        opaque = next(self._opaques) % _OPAQUES
        if self._credentials is None:
            return msgspec.structs.replace(command, opaque=opaque)
        given = {name: value for name, value in (command.ext or {}).items() if value is not None}
        ext: dict[str, str | None] = {**signed(given, command.body, self._credentials, code=command.code)}
        return msgspec.structs.replace(command, opaque=opaque, ext=ext)

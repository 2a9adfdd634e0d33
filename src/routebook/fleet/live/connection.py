"""A broker's connection to one NameServer: kept open, and cut or dropped as faults demand."""

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Final

import msgspec

from routebook.client.addresses import Address
from routebook.client.dial import open_link
from routebook.client.link import Link
from routebook.client.signing import Credentials, signed
from routebook.errors import ConnectionFailed, TimedOut
from routebook.fleet.live.pace import Pace
from routebook.fleet.live.traffic import Traffic
from routebook.wire.command import Command, SerializeType

_OPAQUES: Final = 1 << 31
_CONNECT_S: Final = 3.0
_LEAST_TIMEOUT_S: Final = 1.0  # however fast a fleet's time passes, the machine is as slow as ever


class LiveLine:
    """One TCP connection at a time. What it cannot deliver is lost, as it would be for a broker: the next try comes."""

    def __init__(
        self,
        address: Address,
        *,
        pace: Pace,
        traffic: Traffic,
        serialize_type: SerializeType = SerializeType.JSON,
        opaques: Iterator[int] | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.address = address
        self._pace = pace
        self._traffic = traffic
        self._serialize_type = serialize_type
        self._opaques = opaques or count()
        self._credentials = credentials
        self._link: Link | None = None
        self._healed = asyncio.Event()
        self._healed.set()
        self._given_up = False

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, as far as the broker knows."""
        return self._link is not None and not self._link.closed and not self._given_up

    @property
    def is_cut(self) -> bool:
        return not self._healed.is_set()

    async def connect(self) -> bool:
        """Open it, if it is not; whether it is open now."""
        if self.is_open:
            return True
        if not self._healed.is_set():
            return False
        try:
            link = await open_link(self.address, connect_timeout_s=_CONNECT_S)
        except ConnectionFailed:
            self._traffic.failures += 1
            return False
        if not self._healed.is_set():  # meanwhile
            await link.aclose()
            return False
        self._link = link
        self._given_up = False
        self._traffic.connected += 1
        return True

    async def ask(self, command: Command, *, timeout_ms: float) -> Command | None:
        """The answer, or None. Java: a call that times out closes its connection."""
        link = self._link
        if link is None or not self.is_open:
            return None
        try:
            async with asyncio.timeout(max(self._pace.s(timeout_ms), _LEAST_TIMEOUT_S)):
                await self._healed.wait()  # nothing gets through; what was sent arrives when it does
                self._traffic.requests[command.code] += 1
                answer = await link.ask(self._stamped(command), self._serialize_type)
        except TimeoutError:
            self._traffic.timeouts += 1
            self._give_up(link)
            return None
        except ConnectionFailed:
            self._traffic.failures += 1
            return None
        self._traffic.answers[answer.code] += 1
        return answer

    async def tell(self, command: Command) -> None:
        """One-way."""
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
        """Nothing gets through any more, in either direction; both sides still have their connection."""
        self._healed.clear()

    async def heal(self) -> None:
        """Things get through again; among them the end of a connection that the broker gave up."""
        self._healed.set()
        if self._given_up:
            await self.close()

    def reset(self) -> None:
        """As of a process that has just started: not cut, not connected."""
        self.drop()
        self._healed.set()
        self._given_up = False

    def drop(self) -> None:
        """End it as the end of a process does."""
        link, self._link = self._link, None
        if link is not None:
            link.fail(TimedOut(str(self.address), "was dropped on this side"))

    async def close(self) -> None:
        """End it in order."""
        link, self._link = self._link, None
        self._given_up = False
        if link is not None:
            await link.aclose()

    def _give_up(self, link: Link) -> None:
        if self.is_cut:
            self._given_up = True  # its farewell does not get through, either
        elif link is self._link:
            self.drop()

    def _stamped(self, command: Command) -> Command:
        opaque = next(self._opaques) % _OPAQUES
        if self._credentials is None:
            return msgspec.structs.replace(command, opaque=opaque)
        given = {name: value for name, value in (command.ext or {}).items() if value is not None}
        ext: dict[str, str | None] = {**signed(given, command.body, self._credentials)}
        return msgspec.structs.replace(command, opaque=opaque, ext=ext)

"""Request out, answer back: over which connection, to which NameServer, for how long."""

import asyncio
import ssl
from collections.abc import Sequence
from itertools import count
from typing import Final

from routebook.client.addresses import Address
from routebook.client.dial import Line
from routebook.client.link import Link, OnRequest
from routebook.client.retry import Rotation, all_failed, share_of_time
from routebook.client.signing import Credentials, signed
from routebook.codes import ResponseCode
from routebook.errors import ConnectionFailed, TimedOut, Unreachable, UsageError
from routebook.wire.command import Command, SerializeType

_OPAQUES: Final = 1 << 31
_NO_ANSWER: Final = Command(code=ResponseCode.SUCCESS, opaque=0)  # what a one-way request comes to


class Exchange:
    """The connections of one client. Every address is tried at most once for a request, within its deadline."""

    def __init__(
        self,
        addresses: Sequence[Address],
        *,
        shuffle: bool,
        connect_timeout_s: float,
        tls: ssl.SSLContext | None,
        credentials: Credentials | None,
        serialize_type: SerializeType,
        on_request: OnRequest | None,
    ) -> None:
        self.rotation = Rotation(addresses, shuffle=shuffle)
        self._credentials = credentials
        self._serialize_type = serialize_type
        self._opaques = count(1)
        self._closed = False
        self._lines = {
            address: Line(address, connect_timeout_s=connect_timeout_s, tls=tls, on_request=on_request)
            for address in addresses
        }

    async def perform(self, command: Command, order: Sequence[Address], *, timeout_s: float) -> tuple[Command, Address]:
        """The first answer that one of these gives, and who gave it. A one-way request is done when it is sent."""
        if self._closed:
            raise UsageError("this client is closed")
        command = self._stamped(command)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        failures: list[ConnectionFailed] = []
        leaving: tuple[Command, Address] | None = None
        for tried, address in enumerate(order):
            until = share_of_time(loop.time(), deadline, len(order) - tried)
            try:
                answer = await self._attempt(self._lines[address], command, until)
            except ConnectionFailed as failure:
                failures.append(failure)
            else:
                if answer.code != ResponseCode.GO_AWAY:
                    return answer, address
                leaving = answer, address
            self.rotation.failed(address)
        if leaving is not None:
            return leaving
        raise all_failed(failures)

    async def aclose(self) -> None:
        """Close all connections; nothing can be asked any more."""
        self._closed = True
        await asyncio.gather(*(line.aclose() for line in self._lines.values()))

    def _stamped(self, command: Command) -> Command:
        """A copy with an opaque of its own, signed where somebody signs."""
        ext = command.ext
        if self._credentials is not None:
            given = {name: value for name, value in (ext or {}).items() if value is not None}
            ext = {**signed(given, command.body, self._credentials)}
        opaque = next(self._opaques) % _OPAQUES
        return Command(
            command.code,
            opaque,
            command.flag,
            command.version,
            command.language,
            command.remark,
            ext,
            command.body,
        )

    async def _attempt(self, line: Line, command: Command, until: float) -> Command:
        """One address. A connection that stood idle may be gone or be sent away: then over a new one, once."""
        reused = line.current() is not None
        try:
            answer = await self._over(line, command, until)
        except (Unreachable, TimedOut):
            if not reused or asyncio.get_running_loop().time() >= until:
                raise
        else:
            if answer.code != ResponseCode.GO_AWAY or not reused:
                return answer
        return await self._over(line, command, until)

    async def _over(self, line: Line, command: Command, until: float) -> Command:
        link: Link | None = None
        heard = 0
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(until):
                link = await line.link()
                heard = link.heard
                if command.is_oneway:
                    await link.send(command, self._serialize_type)
                    return _NO_ANSWER
                answer = await link.ask(command, self._serialize_type)
        except TimeoutError:
            within = f"within {max(0.0, until - started):.3g} s"
            if link is None:
                raise TimedOut(str(line.address), f"did not accept a connection {within}") from None
            if link.heard == heard:
                # Java closes a connection on which a call timed out; here only if it said nothing at all meanwhile
                link.fail(TimedOut(str(line.address), "went silent"))
            raise TimedOut(str(line.address), f"did not answer {within}") from None
        if answer.code == ResponseCode.GO_AWAY:
            link.retire()
        return answer

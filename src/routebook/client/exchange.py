"""Sends requests and receives responses: chooses the NameServer and the connection, and enforces the deadline."""

import asyncio
import ssl
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from routebook.client.addresses import Address
from routebook.client.dial import Line
from routebook.client.link import Link, OnRequest
from routebook.codes import ResponseCode
from routebook.errors import ConnectionFailed, TimedOut, Unreachable, UsageError
from routebook.wire.command import Command, SerializeType

if TYPE_CHECKING:
    from routebook.client.signing import Credentials

_OPAQUES: Final = 1 << 31
_NO_ANSWER: Final = Command(code=ResponseCode.SUCCESS, opaque=0)  # the result of a one-way request


class Rotation:
    """A ring of addresses with the one that is tried first. Java: NettyRemotingClient.namesrvAddrChoosed."""

    def __init__(self, addresses: Sequence[Address], *, shuffle: bool) -> None:
        self._ring = list(addresses)
        if shuffle and len(self._ring) > 1:  # like Java: spreads many clients with one list
            from random import shuffle as mix  # noqa: PLC0415 - slow to import, not needed for one address

            mix(self._ring)

    @property
    def chosen(self) -> Address:
        """The address that is tried first."""
        return self._ring[0]

    def order(self) -> list[Address]:
        """Return each address once, starting with the chosen one."""
        return [*self._ring]

    def failed(self, address: Address) -> None:
        """Record a failure: if this is the chosen address, choose the next."""
        if self.chosen == address:
            self._ring.append(self._ring.pop(0))


class Exchange:
    """The connections of one client. A request tries every address at most once, within its deadline."""

    def __init__(
        self,
        addresses: Sequence[Address],
        *,
        shuffle: bool,
        connect_timeout_s: float,
        tls: ssl.SSLContext | None,
        credentials: "Credentials | None",
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
        """Return the first response and its address. A one-way request is complete when it is sent."""
        if self._closed:
            raise UsageError("this client is closed")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        failures: list[ConnectionFailed] = []
        leaving: tuple[Command, Address] | None = None
        for tried, address in enumerate(order):
            now = loop.time()
            until = now + max(0.0, deadline - now) / (len(order) - tried)  # an equal share for each attempt left
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
        raise _all_failed(failures)

    async def aclose(self) -> None:
        """Close all connections; later requests fail."""
        self._closed = True
        await asyncio.gather(*(line.aclose() for line in self._lines.values()))

    def _stamped(self, command: Command) -> Command:
        """Return a copy with a new opaque, signed if there are credentials: a signed request is accepted once."""
        ext = command.ext
        if self._credentials is not None:
            from routebook.client.signing import signed  # noqa: PLC0415 - not needed without credentials

            given = {name: value for name, value in (ext or {}).items() if value is not None}
            ext = {**signed(given, command.body, self._credentials, code=command.code)}
        return msgspec.structs.replace(command, opaque=next(self._opaques) % _OPAQUES, ext=ext)

    async def _attempt(self, line: Line, command: Command, until: float) -> Command:
        """Try one address. If a reused connection is closed or receives GO_AWAY, retry once on a new one."""
        reused = line.current() is not None
        try:
            answer = await self._send(line, command, until)
        except (Unreachable, TimedOut):
            if not reused or asyncio.get_running_loop().time() >= until:
                raise
        else:
            if answer.code != ResponseCode.GO_AWAY or not reused:
                return answer
        return await self._send(line, command, until)

    async def _send(self, line: Line, command: Command, until: float) -> Command:
        command = self._stamped(command)
        link: Link | None = None
        received = 0
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(until):
                link = await line.link()
                received = link.received
                if command.is_oneway:
                    await link.send(command, self._serialize_type)
                    return _NO_ANSWER
                answer = await link.ask(command, self._serialize_type)
        except TimeoutError:
            within = f"within {max(0.0, until - started):.3g} s"
            if link is None:
                raise TimedOut(str(line.address), f"did not accept a connection {within}") from None
            if link.received == received:
                # Java closes a connection on which a call timed out; this client only if nothing was received on it
                link.fail(TimedOut(str(line.address), "received nothing before the timeout"))
            raise TimedOut(str(line.address), f"did not answer {within}") from None
        if answer.code == ResponseCode.GO_AWAY:
            link.retire()
        return answer


def _all_failed(failures: Sequence[ConnectionFailed]) -> ConnectionFailed:
    """Return one error: the only failure, or one that lists the failure of each address."""
    if len(failures) == 1:
        return failures[0]
    kinds = {type(failure) for failure in failures}
    kind = kinds.pop() if len(kinds) == 1 else ConnectionFailed
    addresses = ";".join(failure.address for failure in failures)
    return kind(addresses, "no NameServer responds: " + "; ".join(map(str, failures)))

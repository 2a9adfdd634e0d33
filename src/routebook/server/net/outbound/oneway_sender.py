"""Sends one-way requests to brokers, over one connection per address that is opened when there is one to send."""

import asyncio
import contextlib
from collections.abc import Callable, Hashable
from typing import Final, TypeAlias

from routebook.client.addresses import parse_address
from routebook.client.dial import Line
from routebook.errors import ConnectionFailed, UsageError
from routebook.wire.command import Command, SerializeType

_MAX_RECIPIENTS: Final = 4096
_MAX_WAITING: Final = 256  # requests per broker; the oldest are dropped first
_TIMEOUT_S: Final = 3.0
_IDLE_S: Final = 120.0  # an unused connection is closed after this time

OnResult: TypeAlias = Callable[[str, Command, Hashable, str | None], None]


class OnewaySender:
    """One connection per broker address."""

    def __init__(
        self,
        *,
        serialize_type: SerializeType,
        on_failure: Callable[[str, str], None],
        on_result: OnResult = lambda _address, _command, _key, _why: None,
    ) -> None:
        """`on_failure` receives an address and why requests could not be sent to it.

        `on_result` receives each request with its address and key when it was sent (None), or why it was not.
        """
        self._serialize_type = serialize_type
        self._on_result = on_result
        self._on_failure = on_failure
        self._recipients: dict[str, _Recipient] = {}

    def send(self, address: str, command: Command, key: Hashable = None) -> None:
        """Send a request. With a key it replaces one with that key that is not sent yet."""
        self._recipient(address).send(command, object() if key is None else key)

    async def aclose(self) -> None:
        tasks = [recipient.task for recipient in self._recipients.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _recipient(self, address: str) -> "_Recipient":
        recipient = self._recipients.get(address)
        if recipient is None or recipient.is_over:
            if len(self._recipients) >= _MAX_RECIPIENTS:
                self._recipients.pop(next(iter(self._recipients))).task.cancel()
            recipient = self._recipients[address] = _Recipient(
                address, self._serialize_type, self._on_failure, self._on_result
            )
            recipient.task.add_done_callback(lambda _: self._forget(address, recipient))
        return recipient

    def _forget(self, address: str, recipient: "_Recipient") -> None:
        if self._recipients.get(address) is recipient:
            del self._recipients[address]


class _Recipient:
    """One broker. Its task ends when the connection fails or is unused for long."""

    def __init__(
        self, address: str, serialize_type: SerializeType, on_failure: Callable[[str, str], None], on_result: OnResult
    ) -> None:
        self._address = address
        self._on_result = on_result
        self._serialize_type = serialize_type
        self._on_failure = on_failure
        self._waiting: dict[Hashable, Command] = {}
        self._has_work = asyncio.Event()
        self.is_over = False  # it sends nothing any more; its connection may still be closing
        self.task = asyncio.get_running_loop().create_task(self._run(), name=f"requests to {address}")

    def send(self, command: Command, key: Hashable) -> None:
        self._waiting.pop(key, None)
        self._waiting[key] = command
        if len(self._waiting) > _MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._has_work.set()

    async def _run(self) -> None:
        try:
            line = Line(parse_address(self._address), connect_timeout_s=_TIMEOUT_S, tls=None, on_request=None)
        except UsageError as error:
            self._failed(str(error))
            return
        try:
            while await self._wait_for_work():
                await self._send_all(line)
        except TimeoutError:
            self._failed(f"did not read a request within {_TIMEOUT_S:g} s")
        except ConnectionFailed as failure:
            self._failed(failure.why)
        finally:
            self.is_over = True
            await line.aclose()

    def _failed(self, why: str) -> None:
        self.is_over = True  # a callback may send again
        self._on_failure(self._address, why)
        for key, command in self._waiting.items():
            self._on_result(self._address, command, key, why)

    async def _wait_for_work(self) -> bool:
        """False: there was none for a long time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_S):
                await self._has_work.wait()
        self._has_work.clear()
        return bool(self._waiting)

    async def _send_all(self, line: Line) -> None:
        while self._waiting:
            link = await line.link()
            key = next(iter(self._waiting))
            command = self._waiting.pop(key)
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    await link.send(command, self._serialize_type)
            except (TimeoutError, ConnectionFailed):
                self._waiting.setdefault(key, command)  # not sent
                raise
            self._on_result(self._address, command, key, None)

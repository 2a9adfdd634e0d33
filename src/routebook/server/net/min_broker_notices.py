"""Notifies brokers about the lowest broker id of their group (905), one-way."""

import asyncio
from collections import deque
from collections.abc import Callable, Container, Iterator
from typing import Final

from routebook.client.addresses import parse_address
from routebook.client.dial import Line
from routebook.codes import FLAG_ONEWAY, RequestCode
from routebook.effects import NotifyMinBroker
from routebook.errors import ConnectionFailed, UsageError
from routebook.wire.command import Command, SerializeType

_MAX_RECIPIENTS: Final = 4096
_MAX_WAITING: Final = 256  # notices per broker; the oldest are dropped first
_TIMEOUT_S: Final = 3.0
_IDLE_S: Final = 120.0  # an unused connection is closed after this time


class MinBrokerNotices:
    """One connection per broker address, opened when there is a notice to send."""

    def __init__(
        self, *, opaques: Iterator[int], serialize_type: SerializeType, on_failure: Callable[[str, str], None]
    ) -> None:
        """`on_failure` receives an address and why notices could not be sent to it."""
        self._opaques = opaques
        self._serialize_type = serialize_type
        self._on_failure = on_failure
        self._recipients: dict[str, _Recipient] = {}
        self.own_addresses: Container[str] = ()  # this NameServer never connects to itself; Java does, every 3 s

    def send(self, notice: NotifyMinBroker) -> None:
        """Send the same frame to each recipient, as in Java."""
        fields = {  # in the order of Java's HashMap
            "haBrokerAddr": notice.ha_addr,
            "offlineBrokerAddr": notice.offline_addr,
            "minBrokerAddr": notice.min_broker_addr,
            "minBrokerId": str(notice.min_broker_id),
        }
        command = Command(
            code=RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
            opaque=next(self._opaques) & 0x7FFFFFFF,
            flag=FLAG_ONEWAY,
            ext={key: value for key, value in fields.items() if value is not None},
        )
        for address in notice.recipients:
            if address not in self.own_addresses:
                self._recipient(address).send(command)

    async def aclose(self) -> None:
        tasks = [recipient.task for recipient in self._recipients.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _recipient(self, address: str) -> "_Recipient":
        recipient = self._recipients.get(address)
        if recipient is None:
            if len(self._recipients) >= _MAX_RECIPIENTS:
                self._recipients.pop(next(iter(self._recipients))).task.cancel()
            recipient = self._recipients[address] = _Recipient(address, self._serialize_type, self._on_failure)
            recipient.task.add_done_callback(lambda _: self._forget(address, recipient))
        return recipient

    def _forget(self, address: str, recipient: "_Recipient") -> None:
        if self._recipients.get(address) is recipient:
            del self._recipients[address]


class _Recipient:
    """One broker. Its task ends when the connection fails or is unused for long."""

    def __init__(self, address: str, serialize_type: SerializeType, on_failure: Callable[[str, str], None]) -> None:
        self._address = address
        self._serialize_type = serialize_type
        self._on_failure = on_failure
        self._waiting: deque[Command] = deque(maxlen=_MAX_WAITING)
        self._has_work = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._run(), name=f"notices to {address}")

    def send(self, command: Command) -> None:
        self._waiting.append(command)
        self._has_work.set()

    async def _run(self) -> None:
        try:
            line = Line(parse_address(self._address), connect_timeout_s=_TIMEOUT_S, tls=None, on_request=None)
        except UsageError as error:
            self._on_failure(self._address, str(error))
            return
        try:
            while await self._wait_for_work():
                await self._send_all(line)
        except TimeoutError:
            self._on_failure(self._address, f"did not read a notice within {_TIMEOUT_S:g} s")
        except ConnectionFailed as failure:
            self._on_failure(self._address, failure.why)
        finally:
            await line.aclose()

    async def _wait_for_work(self) -> bool:
        """False: there was none for a long time."""
        try:
            async with asyncio.timeout(_IDLE_S):
                await self._has_work.wait()
        except TimeoutError:
            return False
        self._has_work.clear()
        return True

    async def _send_all(self, line: Line) -> None:
        while self._waiting:
            link = await line.link()
            command = self._waiting.popleft()
            async with asyncio.timeout(_TIMEOUT_S):
                await link.send(command, self._serialize_type)

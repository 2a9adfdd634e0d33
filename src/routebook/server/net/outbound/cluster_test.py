"""clusterTest: looks up the route of an unknown topic at the NameServers of the product environment."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from routebook.client.addresses import Address, parse_address
from routebook.client.exchange import Exchange
from routebook.codes import VERSION_4_9_4, RequestCode, ResponseCode
from routebook.errors import ConnectionFailed, UsageError
from routebook.handlers.lookup import no_route
from routebook.wire.command import Command, Reply, SerializeType

_TIMEOUT_S: Final = 3.0
# Java decodes the answer and encodes it in the plain profile, whatever the caller's version is. This version gets that.
_PLAIN_PROFILE_VERSION: Final = VERSION_4_9_4 - 1


class ClusterTest:
    """Asks the NameServers in turn; the first answer counts. Each topic is asked for once at a time."""

    def __init__(self, addresses: Sequence[str], *, on_failure: Callable[[str, str], None]) -> None:
        """`on_failure` receives an address and why it gave no answer."""
        self._on_failure = on_failure
        self._addresses = self._parse(addresses)
        self._exchange = Exchange(
            self._addresses,
            shuffle=False,
            connect_timeout_s=_TIMEOUT_S,
            tls=None,
            credentials=None,
            serialize_type=SerializeType.JSON,
            on_request=None,
        )
        self._waiting: dict[str, list[Callable[[Reply], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, topic: str, answer: Callable[[Reply], None]) -> None:
        """Call `answer` with the route of the product environment, or with TOPIC_NOT_EXIST."""
        waiting = self._waiting.setdefault(topic, [])
        waiting.append(answer)
        if len(waiting) == 1:
            task = asyncio.get_running_loop().create_task(self._find(topic))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._exchange.aclose()

    def _parse(self, addresses: Sequence[str]) -> list[Address]:
        parsed = []
        for address in addresses:
            try:
                parsed.append(parse_address(address))
            except UsageError as error:
                self._on_failure(address, str(error))
        return parsed

    async def _find(self, topic: str) -> None:
        reply = no_route(topic)
        for address in self._addresses:
            found = await self._ask_one(address, topic)
            if found is not None:
                if found.code == ResponseCode.SUCCESS and found.body is not None:
                    reply = Reply(body=found.body)
                break
        for answer in self._waiting.pop(topic):
            answer(reply)

    async def _ask_one(self, address: Address, topic: str) -> Command | None:
        request = Command(
            code=RequestCode.GET_ROUTEINFO_BY_TOPIC, opaque=0, version=_PLAIN_PROFILE_VERSION, ext={"topic": topic}
        )
        try:
            answer, _ = await self._exchange.perform(request, [address], timeout_s=_TIMEOUT_S)
        except ConnectionFailed as failure:
            self._on_failure(failure.address, failure.why)
            return None
        return answer

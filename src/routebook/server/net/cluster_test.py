"""clusterTest: asks the product environment's NameServers for the route of a topic that is not known here."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from routebook.codes import VERSION_4_9_4, RequestCode, ResponseCode
from routebook.handlers.lookup import no_route
from routebook.server.net.outbound import Link, Trouble
from routebook.wire.codec import encode
from routebook.wire.command import Command, Reply

_ANSWER_TIMEOUT_S: Final = 3.0
# Java decodes the answer and encodes it in the plain profile, whoever asked. A caller of this version gets that.
_PLAIN_PROFILE_VERSION: Final = VERSION_4_9_4 - 1


class Product:
    """The NameServers are asked in turn; the first that answers decides. One question per topic at a time."""

    def __init__(self, addresses: Sequence[str], *, opaques: Iterator[int], trouble: Trouble) -> None:
        self._opaques = opaques
        self._links = [Link(address, trouble=self._failed, received=self._received) for address in addresses]
        self._trouble = trouble
        self._asked: dict[int, tuple[str, asyncio.Future[Command | None]]] = {}
        self._waiting: dict[str, list[Callable[[Reply], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, topic: str, answer: Callable[[Reply], None]) -> None:
        """Call `answer` with the product environment's route, or with the code for a topic that nobody knows."""
        waiting = self._waiting.setdefault(topic, [])
        waiting.append(answer)
        if len(waiting) == 1:
            task = asyncio.get_running_loop().create_task(self._find(topic))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for link in self._links:
            link.close()

    async def _find(self, topic: str) -> None:
        reply = no_route(topic)
        for link in self._links:
            found = await self._ask_one(link, topic)
            if found is not None:
                if found.code == ResponseCode.SUCCESS and found.body is not None:
                    reply = Reply(body=found.body)
                break
        for answer in self._waiting.pop(topic):
            answer(reply)

    async def _ask_one(self, link: Link, topic: str) -> Command | None:
        opaque = next(self._opaques) & 0x7FFFFFFF
        question = Command(
            code=RequestCode.GET_ROUTEINFO_BY_TOPIC,
            opaque=opaque,
            version=_PLAIN_PROFILE_VERSION,
            ext={"topic": topic},
        )
        answered: asyncio.Future[Command | None] = asyncio.get_running_loop().create_future()
        self._asked[opaque] = link.address, answered
        try:
            link.send(encode(question))
            async with asyncio.timeout(_ANSWER_TIMEOUT_S):
                return await answered
        except TimeoutError:
            self._trouble(link.address, f"no answer within {_ANSWER_TIMEOUT_S:g} s")
            return None
        finally:
            del self._asked[opaque]

    def _received(self, command: Command) -> None:
        _, answered = self._asked.get(command.opaque, ("", None))
        if answered is not None and not answered.done():
            answered.set_result(command)

    def _failed(self, address: str, why: str) -> None:
        """Whoever waits for this NameServer goes on to the next."""
        self._trouble(address, why)
        for asked_of, answered in list(self._asked.values()):
            if asked_of == address and not answered.done():
                answered.set_result(None)

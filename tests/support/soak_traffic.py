"""A few dozen make-believe brokers, an operator and a client, who never agree on anything: traffic for a soak."""

import asyncio
import contextlib
import random
from collections.abc import Coroutine

from tests.support.core_client import register_body
from tests.support.remoting import put_kv, route
from tests.support.remoting_frames import Reply, Request

TOPICS = [f"topic-{n:02d}" for n in range(60)]
_ANSWER_S = 20.0


class Wire:
    """A connection that is made when it is needed. ConnectionError where nobody answers."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request) -> Reply:
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            writer.write(request.encode())
            async with asyncio.timeout(_ANSWER_S):
                length = await reader.readexactly(4)
                return Reply.parse(length + await reader.readexactly(int.from_bytes(length, "big")))
        except (OSError, asyncio.IncompleteReadError) as gone:
            await self.close()
            raise ConnectionError from gone

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with contextlib.suppress(OSError):
                await streams[1].wait_closed()


class FakeBroker:
    """Registers about once a second; crashes, stops, freezes and changes its topics as chance has it."""

    def __init__(self, number: int, port: int, chance: random.Random) -> None:
        group, broker_id = divmod(number, 2)
        self.wire = Wire(port)
        self._chance = chance
        self._counter = 1
        self._topics = {f"broker-{group:02d}", *chance.sample(TOPICS, 20)}
        self._ext = {
            "clusterName": f"cluster-{group % 3}",
            "brokerName": f"broker-{group:02d}",
            "brokerAddr": f"10.0.0.{number}:10911",
            "haServerAddr": f"10.0.0.{number}:10912",
            "brokerId": str(broker_id),
            "enableActingMaster": "true",
            "heartbeatTimeoutMillis": "4000",
        }

    async def live(self, ended: asyncio.Event) -> None:
        chance = self._chance
        while not ended.is_set():
            with contextlib.suppress(ConnectionError):
                await self.register()
                match chance.randrange(12):
                    case 0:
                        await self.wire.close()  # a crash: the connection goes without a word
                    case 1:
                        await self.wire.ask(Request(code=104, ext=self._ext))
                        await self.wire.close()
                    case 2:
                        await _pause(ended, 7)  # frozen: its lease ends
                    case 3 | 4:
                        self._topics ^= {chance.choice(TOPICS)}
                        self._counter += 1
                    case 5:
                        await self.wire.ask(Request(code=322, ext=self._ext, body=b"{}"))
                    case 6:
                        await self.wire.ask(Request(code=904, ext=self._ext))
            await _pause(ended, chance.uniform(0.2, 1.5))

    async def settle(self) -> None:
        """Register once more, for long."""
        await self.wire.close()
        self._ext["heartbeatTimeoutMillis"] = "600000"
        await self.register()

    async def register(self) -> None:
        body = register_body(*sorted(self._topics), counter=self._counter)
        await self.wire.ask(Request(code=103, ext=self._ext, body=body))


async def operate(port: int, chance: random.Random, ended: asyncio.Event, acknowledged: list[str]) -> None:
    """Wipes, restores, deletes, and writes KV entries; notes the entries that were acknowledged."""
    wire, number = Wire(port), 0
    while not ended.is_set():
        number += 1
        broker = {"brokerName": f"broker-{chance.randrange(16):02d}"}
        request = chance.choice(
            [
                Request(code=205, ext=broker),
                Request(code=327, ext=broker),
                Request(code=216, ext={"topic": chance.choice(TOPICS)}),
                put_kv("number", str(number)),
            ]
        )
        with contextlib.suppress(ConnectionError):
            reply = await wire.ask(request)
            if request.code == 100 and reply.code == 0:
                acknowledged.append(str(number))
        await _pause(ended, chance.uniform(0, 0.3))
    await wire.close()


async def look_up(port: int, chance: random.Random, ended: asyncio.Event) -> None:
    """A client that asks for whatever topic."""
    wire = Wire(port)
    while not ended.is_set():
        with contextlib.suppress(ConnectionError):
            for _ in range(50):
                assert (await wire.ask(route(chance.choice(TOPICS)))).code in {0, 17}
        await _pause(ended, 0.1)
    await wire.close()


async def _pause(ended: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ended.wait()


async def together(*parts: Coroutine[None, None, None]) -> None:
    """All of them; the first that fails ends the others."""
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(part)

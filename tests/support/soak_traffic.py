"""Traffic for the soak test: a few dozen simulated brokers with conflicting changes, an operator, and a client."""

import asyncio
import contextlib
import random
from collections.abc import Coroutine

from tests.support.core_client import register_body
from tests.support.reconnecting_client import ReconnectingClient
from tests.support.remoting import put_kv, route
from tests.support.remoting_frames import Request

TOPICS = [f"topic-{n:02d}" for n in range(60)]


class FakeBroker:
    """Registers about once a second; crashes, stops, freezes and changes its topics at random."""

    def __init__(self, number: int, port: int, chance: random.Random) -> None:
        group, broker_id = divmod(number, 2)
        self.client = ReconnectingClient(port)
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
                        await self.client.close()  # a crash: the connection closes without 104
                    case 1:
                        await self.client.ask(Request(code=104, ext=self._ext))
                        await self.client.close()
                    case 2:
                        await _pause(ended, 7)  # frozen: its lease expires
                    case 3 | 4:
                        self._topics ^= {chance.choice(TOPICS)}
                        self._counter += 1
                    case 5:
                        await self.client.ask(Request(code=322, ext=self._ext, body=b"{}"))
                    case 6:
                        await self.client.ask(Request(code=904, ext=self._ext))
            await _pause(ended, chance.uniform(0.2, 1.5))

    async def settle(self) -> None:
        """Register once more, with a long lease."""
        await self.client.close()
        self._ext["heartbeatTimeoutMillis"] = "600000"
        await self.register()

    async def register(self) -> None:
        body = register_body(*sorted(self._topics), counter=self._counter)
        await self.client.ask(Request(code=103, ext=self._ext, body=body))


async def operate(port: int, chance: random.Random, ended: asyncio.Event, acknowledged: list[str]) -> None:
    """Wipe, restore, delete, and write KV entries; record the acknowledged entries."""
    client, number = ReconnectingClient(port), 0
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
            reply = await client.ask(request)
            if request.code == 100 and reply.code == 0:
                acknowledged.append(str(number))
        await _pause(ended, chance.uniform(0, 0.3))
    await client.close()


async def look_up(port: int, chance: random.Random, ended: asyncio.Event) -> None:
    """Look up random topics."""
    client = ReconnectingClient(port)
    while not ended.is_set():
        with contextlib.suppress(ConnectionError):
            for _ in range(50):
                assert (await client.ask(route(chance.choice(TOPICS)))).code in {0, 17}
        await _pause(ended, 0.1)
    await client.close()


async def _pause(ended: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ended.wait()


async def together(*parts: Coroutine[None, None, None]) -> None:
    """Run all of them; the first failure cancels the others."""
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(part)

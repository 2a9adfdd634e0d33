"""Brokers that register, clients that look up routes, an operator that writes; each records its actions and results."""

import asyncio
import contextlib
import json
import random
from collections.abc import Sequence
from itertools import count
from typing import Final

from tests.chaos.history import History, Seen, Unanswered, Uptime, Write
from tests.chaos.nameserver import TIMEOUT_S, ChaosNameServer
from tests.support.reconnecting_client import ReconnectingClient
from tests.support.remoting import put_kv, register, route
from tests.support.remoting_frames import Reply

PERIOD_S: Final = 1.0
ASK_S: Final = 2.0  # a broker then closes its connection and tries again
LOOK_S: Final = 5.0  # the same for a client
TOPIC: Final = "everywhere"


class ChaosBroker:
    """Registers at every NameServer, through its proxy, once per period."""

    def __init__(self, number: int, nameservers: Sequence[ChaosNameServer], history: History) -> None:
        self.name = f"broker-{number}"
        self._request = register(
            broker=self.name,
            addr=f"127.0.0.1:{30000 + number}",
            topics=[TOPIC, f"of-{self.name}"],
            acting_master=True,
            timeout_ms=int(TIMEOUT_S * 1000),
        )
        self._connections = [ReconnectingClient(nameserver.proxy.port, timeout_s=ASK_S) for nameserver in nameservers]
        self._history = history
        self._began: float | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.registered = 0

    def start(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self._tasks = [asyncio.create_task(self._keep_registered(connection)) for connection in self._connections]

    async def end(self, *, silent: bool) -> None:
        """Stop the broker. Its connections close, unless `silent`: then its machine is lost and they stay open."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not silent:
            self.close()
        if self._began is not None:
            now = asyncio.get_running_loop().time()
            self._history.uptimes.append(Uptime(broker=self.name, began=self._began, ended=now))
            self._began = None

    def close(self) -> None:
        for connection in self._connections:
            connection.abort()

    async def _keep_registered(self, connection: ReconnectingClient) -> None:
        while True:
            with contextlib.suppress(ConnectionError):
                self.registered += (await connection.ask(self._request)).code == 0
            await asyncio.sleep(PERIOD_S)


async def restart_brokers(brokers: Sequence[ChaosBroker], chance: random.Random) -> None:
    """Stop two brokers at a time, for about twice their timeout."""
    for broker in brokers:
        broker.start()
    while True:
        await asyncio.sleep(chance.uniform(1, 3))
        gone = chance.sample(list(brokers), 2)
        for broker in gone:
            await broker.end(silent=chance.random() < 0.5)
        await asyncio.sleep(chance.uniform(1.5, 2.2) * TIMEOUT_S)
        for broker in gone:
            broker.close()
            broker.start()


async def look_up(nameserver: ChaosNameServer, history: History) -> None:
    """A client that bypasses the proxy: it receives answers during network faults too."""
    loop = asyncio.get_running_loop()
    with ReconnectingClient(nameserver.port, timeout_s=LOOK_S) as connection:
        while True:
            began = loop.time()
            try:
                names = _brokers(await connection.ask(route(TOPIC)))
            except ConnectionError:
                history.observations.append(Unanswered(nameserver=nameserver.name, began=began, ended=loop.time()))
            else:
                seen = Seen(nameserver=nameserver.name, began=began, ended=loop.time(), brokers=names)
                history.observations.append(seen)
            await asyncio.sleep(0.1)


def _brokers(reply: Reply) -> frozenset[str]:
    """The brokers in a route; empty without a route."""
    return (
        frozenset(one["brokerName"] for one in json.loads(reply.body)["brokerDatas"])
        if reply.code == 0
        else frozenset()
    )


async def write_keys(nameserver: ChaosNameServer, history: History) -> None:
    """An operator who records the acknowledged writes."""
    with ReconnectingClient(nameserver.port, timeout_s=ASK_S) as connection:
        for number in count(1):
            key, value = f"key-{number}", f"value-{number}"
            with contextlib.suppress(ConnectionError):
                if (await connection.ask(put_kv(key, value))).code == 0:
                    history.writes.append(Write(nameserver=nameserver.name, key=key, value=value))
            await asyncio.sleep(0.25)

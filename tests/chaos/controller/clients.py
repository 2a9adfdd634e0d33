"""Further clients of the controllers: applicants for ids, an observer of every node, and slaves that lag."""

import asyncio
import contextlib
import json
import random
from collections.abc import Sequence
from typing import Final

from tests.chaos.controller.broker import CLUSTER, Broker
from tests.chaos.controller.connection import Connection
from tests.chaos.controller.history import History, IdGiven, NextId, Seen

APPLICANTS: Final = 2
IDS_PER_SET: Final = 50
APPLY_S: Final = 0.1
OBSERVE_S: Final = 0.2


class Clients:
    """They use the address of the bridge, and every node, whether it leads or not."""

    def __init__(self, nodes: Sequence[tuple[str, int]], source: str, history: History, chance: random.Random) -> None:
        self._is_running = asyncio.Event()
        self._is_running.set()
        self._nodes, self._source = nodes, source
        self._history, self._chance = history, chance
        self._tasks: list[asyncio.Task[None]] = []
        self._connections: list[Connection] = []
        self.last_commit_began = 0.0

    def start(self, brokers: Sequence[Broker]) -> None:
        sets = sorted({broker.of for broker in brokers})
        work = [
            *(self._apply(number) for number in range(APPLICANTS)),
            *(self._observe(node, sets) for node in self._nodes),
            self._lag(brokers),
        ]
        self._tasks = [asyncio.create_task(one) for one in work]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections:
            connection.close()

    def _connect(self, node: tuple[str, int]) -> Connection:
        self._connections.append(Connection(node, self._source, self._is_running))
        return self._connections[-1]

    async def _apply(self, number: int) -> None:
        """Apply for one id after another, in sets that all applicants share; repeat what was not answered."""
        connections = [self._connect(node) for node in self._nodes]
        loop, at, given = asyncio.get_running_loop(), 0, 0
        while True:
            await asyncio.sleep(APPLY_S)
            names = {"clusterName": CLUSTER, "brokerName": f"ids-{len(self._history.ids) // IDS_PER_SET}"}
            began = loop.time()
            with contextlib.suppress(ConnectionError):
                reply = await connections[at].ask(1012, names)
                if reply.code == 0:
                    wanted = int(reply.ext["nextBrokerId"])
                    self._history.next_ids.append(NextId(of=names["brokerName"], number=wanted, began=began))
                    given += 1
                    check_code = f"10.99.0.254:{number};{given}"
                    ext = {**names, "appliedBrokerId": wanted, "registerCheckCode": check_code}
                    began = loop.time()
                    reply = await connections[at].ask(1013, ext)
                    if reply.code == 0:
                        ack = IdGiven(of=names["brokerName"], number=wanted, check_code=check_code, ended=loop.time())
                        self._history.ids.append(ack)
                        self.last_commit_began = max(self.last_commit_began, began)
                    if reply.code in (0, 2014):
                        continue
            at = (at + 1) % len(connections)

    async def _observe(self, node: tuple[str, int], sets: Sequence[str]) -> None:
        """Read every set at one node, as a broker does that still takes it for the leader."""
        connection, loop = self._connect(node), asyncio.get_running_loop()
        while True:
            for name in sets:
                began = loop.time()
                with contextlib.suppress(ConnectionError):
                    reply = await connection.ask(1004, {"brokerName": name})
                    if reply.code == 0:
                        body = json.loads(reply.body)
                        self._history.seen.append(
                            Seen(
                                of=name,
                                source=f"1004 of {node[0]}",
                                began=began,
                                ended=loop.time(),
                                master=int(reply.ext.get("masterBrokerId", 0)),
                                master_epoch=int(reply.ext["masterEpoch"]),
                                members=frozenset(body["syncStateSet"]),
                                members_epoch=body["syncStateSetEpoch"],
                            )
                        )
            await asyncio.sleep(OBSERVE_S)

    async def _lag(self, brokers: Sequence[Broker]) -> None:
        """Let one replica after another fall behind, so that sync-state sets shrink and grow."""
        while True:
            broker = self._chance.choice(brokers)
            broker.is_lagging = True
            await asyncio.sleep(self._chance.uniform(1.2, 2.5))
            broker.is_lagging = False
            await asyncio.sleep(self._chance.uniform(0.2, 1.5))

"""A simulated broker in controller mode: speaks to real controllers as a broker does, and records what it observes.

Roles follow the broker's rule: a message with a lower master epoch than the own is refused, one with a higher epoch
changes the role. A master confirms a message when all in-sync replicas have it, including those that it has proposed
(1001) and not yet heard about. By default, intervals are shorter than a real broker's, so that rounds are short.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tests.chaos.controller.connection import Connection
from tests.chaos.controller.history import History, IdGiven, NextId, Seen, Unknown
from tests.support.compare import parse_body
from tests.support.remoting_frames import Reply

CLUSTER: Final = "C1"
PORT: Final = 10911
REPLICATE_S: Final = 0.2
OUT_OF_SYNC_S: Final = 1.0


class Pace(NamedTuple):
    """Intervals: heartbeats and their timeout, 1005, 1004."""

    beat_s: float = 0.3
    beat_timeout_s: float = 3.0
    metadata_s: float = 1.0
    poll_s: float = 1.0


FAST: Final = Pace()


class Broker:
    """`identity`, `check_code`, `epoch` and `log` are on disk: they survive `kill`."""

    def __init__(
        self, of: str, address: str, nodes: Sequence[tuple[str, int]], history: History, pace: Pace = FAST
    ) -> None:
        self.of = of
        self._pace = pace
        self.host = address
        self.address = f"{address}:{PORT}"
        self.peers: list[Broker] = []
        self._nodes = nodes
        self._history = history
        self.identity: int | None = None
        self._applied: tuple[int, str] | None = None
        self.epoch = 0
        self.log: list[str] = []
        self._is_running = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None
        self.is_up = False
        self.is_lagging = False

    @property
    def is_reachable(self) -> bool:
        return self.is_up and self._is_running.is_set()

    async def start(self) -> None:
        self._connections = [Connection(node, self.host, self._is_running) for node in self._nodes]
        self._leader: Connection | None = None
        self._is_running.set()
        self.is_up = True
        self.master: int | None = None
        self.members: frozenset[int] = frozenset()
        self.members_epoch = -1
        self._proposed: frozenset[int] = frozenset()
        self._synced: dict[int, float] = {}
        self._followed_epoch = -1  # the log was aligned with the master of this epoch
        self._links: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._notified, self.host, PORT)
        self._tasks = [asyncio.create_task(self._live())]

    def kill(self) -> None:
        """As kill -9: connections close, memory is lost."""
        self.is_up = False
        for task in self._tasks:
            task.cancel()
        for connection in self._connections:
            connection.close()
        assert self._server is not None
        self._server.close()
        for link in self._links:
            link.transport.abort()

    def freeze(self) -> None:
        """As SIGSTOP."""
        self._is_running.clear()

    def thaw(self) -> None:
        self._is_running.set()

    @property
    def is_master(self) -> bool:
        return self.identity is not None and self.master == self.identity

    # -- the life of a broker --------------------------------------------------------------------------------------

    async def _live(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._pace.metadata_s, self._find_leader))
            await self._until_done(self._get_identity)
            group.create_task(self._repeat(self._pace.beat_s, self._beat))
            await self._until_done(self._register)
            group.create_task(self._repeat(self._pace.poll_s, self._poll))
            group.create_task(self._repeat(REPLICATE_S, self._replicate))
            group.create_task(self._repeat(REPLICATE_S * 2, self._alter))

    async def _repeat(self, every_s: float, act: Any) -> None:
        while True:
            await self._is_running.wait()
            with contextlib.suppress(ConnectionError):
                await act()
            await asyncio.sleep(every_s)

    async def _until_done(self, act: Any) -> None:
        while True:
            with contextlib.suppress(ConnectionError):
                if await act():
                    return
            await asyncio.sleep(0.2)

    async def _find_leader(self) -> None:
        """1005 to each node until one names a leader."""
        for connection in self._connections:
            with contextlib.suppress(ConnectionError):
                named = (await connection.ask(1005, {})).ext.get("controllerLeaderAddress")
                if named is not None:
                    self._leader = next(one for one in self._connections if "{}:{}".format(*one.node) == named)
                    return

    async def _get_identity(self) -> bool:
        if self.identity is not None:
            return True
        names = {"clusterName": CLUSTER, "brokerName": self.of}
        if self._applied is None:
            began = _now()
            reply = await self._ask(1012, names)
            if reply.code != 0:
                return False
            number = int(reply.ext["nextBrokerId"])
            self._history.next_ids.append(NextId(of=self.of, number=number, began=began))
            self._applied = number, f"{self.address};{time.time_ns() // 1_000_000}"
        number, check_code = self._applied
        reply = await self._ask(1013, {**names, "appliedBrokerId": number, "registerCheckCode": check_code})
        if reply.code == 2014:
            self._applied = None  # another broker was faster
        if reply.code == 0:
            given = IdGiven(of=self.of, number=number, check_code=check_code, ended=_now())
            self._history.ids.append(given)
            self.identity = number
        return reply.code == 0

    async def _register(self) -> bool:
        ext = {"clusterName": CLUSTER, "brokerName": self.of, "brokerId": self.identity, "brokerAddress": self.address}
        began = _now()
        reply = await self._ask(1003, ext)
        if reply.code == 2010:
            self._history.unknown.append(Unknown(of=self.of, number=self.identity or 0, began=began))
        if reply.code != 0:
            return False
        if "masterBrokerId" in reply.ext:
            self._see(reply, "1003", began)
        else:
            await self._elect()
        return True

    async def _elect(self) -> None:
        began = _now()
        ext = {"clusterName": CLUSTER, "brokerName": self.of, "brokerId": self.identity}
        reply = await self._ask(1002, ext)
        if reply.code in (0, 2011):
            self._see(reply, "1002", began, elected=reply.code == 0)

    async def _poll(self) -> None:
        began = _now()
        reply = await self._ask(1004, {"brokerName": self.of})
        if reply.code == 2008:
            self._history.unknown.append(Unknown(of=self.of, number=self.identity or 0, began=began))
        if reply.code == 0:
            self._see(reply, "1004", began)
            if "masterBrokerId" not in reply.ext:
                await self._elect()

    async def _beat(self) -> None:
        ext = {
            "clusterName": CLUSTER,
            "brokerName": self.of,
            "brokerAddr": self.address,
            "brokerId": self.identity,
            "epoch": self.epoch,
            "maxOffset": len(self.log),
            "confirmOffset": len(self.log),
            "heartbeatTimeoutMills": int(self._pace.beat_timeout_s * 1000),
            "electionPriority": 2147483647,
        }
        await asyncio.gather(*(connection.tell(904, ext) for connection in self._connections))

    async def _notified(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._links.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                length = await reader.readexactly(4)
                message = Reply.parse(length + await reader.readexactly(int.from_bytes(length, "big")))
                await self._is_running.wait()
                if message.code == 1008 and self.is_up:
                    self._see(message, "1008", _now(), elected=True)
        writer.transport.abort()

    async def _ask(self, code: int, ext: Mapping[str, object], body: bytes = b"") -> Reply:
        if self._leader is None:
            raise ConnectionError("no leader is known")
        try:
            return await self._leader.ask(code, ext, body)
        except ConnectionError:
            self._leader = None
            raise

    # -- roles and replication -------------------------------------------------------------------------------------

    def _see(self, message: Reply, source: str, began: float, *, elected: bool = False) -> None:
        """Record the state of the set in a message, and change the role."""
        ext, body = message.ext, parse_body(message.body or b"{}")
        master = int(ext.get("masterBrokerId", 0))
        epoch = int(ext["masterEpoch"])
        members = frozenset(body["syncStateSet"]) if "syncStateSet" in body else None
        named = ext.get("syncStateSetEpoch", body.get("syncStateSetEpoch"))
        members_epoch = None if named is None else int(named)
        notified = source == "1008"
        self._history.seen.append(
            Seen(
                of=self.of,
                source=f"{source} to {self.identity}",
                began=began,
                ended=_now(),
                notified=notified,
                master=master,
                master_epoch=epoch,
                members=members,
                members_epoch=members_epoch,
                elected=elected,
            )
        )
        if epoch < self.epoch:
            self._history.refused_stale += 1
            return
        if epoch > self.epoch or self.master is None:
            self.epoch, self.master = epoch, master or None
            self.members_epoch, self._proposed = -1, frozenset()
            self._synced = {}
        if members is not None and members_epoch is not None and members_epoch > self.members_epoch:
            self.members, self.members_epoch, self._proposed = members, members_epoch, frozenset()

    async def _replicate(self) -> None:
        """A master appends a message and confirms it when all in-sync replicas have it."""
        if not self.is_master:
            return
        message = f"{self.epoch}-{len(self.log)}"
        self.log.append(message)
        now = _now()
        have = {self.identity}
        for peer in self.peers:
            if peer.is_reachable and peer.identity is not None and peer.follow(self):
                have.add(peer.identity)
                self._synced[peer.identity] = now
        if self.members and have >= self.members | self._proposed:
            self._history.acknowledged.setdefault(self.of, []).append(message)

    def follow(self, master: "Broker") -> bool:
        """Copy the master's log; False: the master is not the one that this broker follows."""
        if self.is_lagging or self.epoch != master.epoch or self.master != master.identity:
            return False
        if self._followed_epoch != master.epoch:
            self.log, self._followed_epoch = list(master.log), master.epoch
        else:
            self.log += master.log[len(self.log) :]
        return True

    async def _alter(self) -> None:
        """1001 when the replicas in sync differ from the Controller's."""
        if not self.is_master or not self.members:
            return
        now, epoch, members_epoch = _now(), self.epoch, self.members_epoch
        synced = {number for number, at in self._synced.items() if now - at < OUT_OF_SYNC_S}
        wanted = frozenset({self.identity or 0, *synced})
        if wanted == self.members:
            return
        self._proposed = wanted | self._proposed
        body = json.dumps({"syncStateSet": sorted(wanted), "syncStateSetEpoch": members_epoch}).encode()
        ext = {"brokerName": self.of, "masterBrokerId": self.identity, "masterEpoch": epoch}
        reply = await self._ask(1001, ext, body)
        if reply.code != 0:
            return
        number = int(reply.ext["newSyncStateSetEpoch"])
        self._history.seen.append(
            Seen(
                of=self.of,
                source=f"1001 of {self.identity}",
                began=now,
                ended=_now(),
                master_epoch=epoch,
                members=wanted,
                members_epoch=number,
            )
        )
        if epoch == self.epoch and number > self.members_epoch:
            self.members, self.members_epoch, self._proposed = wanted, number, frozenset()


def _now() -> float:
    return asyncio.get_running_loop().time()

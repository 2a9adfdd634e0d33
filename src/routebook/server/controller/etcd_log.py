"""The log of several controller nodes: etcd keeps the sets, elects the leader by a lease and fences every commit.

PREFIX/leader      {"id", "address"} of the leader, bound to its lease
PREFIX/sets/NAME   the state of one set, JSON

A commit is one transaction: the leader key must be the one this node created, and the set's key must be at the
revision this node has seen. A former leader can therefore never commit. A leader that could not renew its lease for
MAX_UNRENEWED_S stops answering, by its own monotonic clock, before etcd gives the lease up.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from routebook.controller.state import BrokerSet, Event
from routebook.server.controller import etcd_client as etcd
from routebook.server.controller.log import LogError, LogListener, Node, NotLeader

LEASE_S: Final = 2
RENEW_S: Final = 0.5
MAX_UNRENEWED_S: Final = 1.5
LEADER_UNKNOWN_AFTER_S: Final = 3.0
_RETRY_S: Final = 0.2

_encode = msgspec.json.Encoder().encode
_decode_set = msgspec.json.Decoder(BrokerSet).decode
_decode_node = msgspec.json.Decoder(Node).decode


class EtcdLog:
    """Follows the sets by a watch; campaigns for leadership for as long as it runs."""

    def __init__(
        self,
        endpoints: Sequence[str],
        node: Node,
        *,
        prefix: str,
        verify: Any = True,
        auth: tuple[str, str] | None = None,
    ) -> None:
        self._node = node
        self._leader_key = f"{prefix}/leader".encode()
        self._sets_prefix = f"{prefix}/sets/".encode()
        self._client = etcd.EtcdClient(endpoints, verify=verify, auth=auth)
        self._watcher = etcd.EtcdClient(endpoints, verify=verify, auth=auth)
        self._listener: LogListener | None = None
        self._leader: Node | None = None
        self._leader_seen_at = 0.0
        self._lease = 0
        self._created = 0  # revision at which this node created the leader key; 0: it does not lead
        self._renewed_at = 0.0
        self._revisions: dict[str, int] = {}  # of each set's key; absent: no key
        self._seen: dict[str, int] = {}  # newest revision of each set, deletions included
        self._tasks: list[asyncio.Task[None]] = []
        self._resigned = asyncio.Event()  # a commit failed in a way that needs a new campaign
        self.problem: str | None = None

    @property
    def leader(self) -> Node | None:
        if self.is_leader:
            return self._node
        if self._created or time.monotonic() - self._leader_seen_at > LEADER_UNKNOWN_AFTER_S:
            return None
        return self._leader

    @property
    def is_leader(self) -> bool:
        return self._created != 0 and time.monotonic() - self._renewed_at < MAX_UNRENEWED_S

    async def start(self, listener: LogListener) -> None:
        self._listener = listener
        self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._campaign())]

    async def commit(self, event: Event, state: BrokerSet | None) -> None:
        if not self.is_leader:
            raise NotLeader("this node does not lead")
        name = event.broker
        key = self._sets_prefix + name.encode("utf-8", "surrogatepass")
        change = etcd.delete(key) if state is None else etcd.put(key, _encode(state))
        fence = [
            etcd.created_at(self._leader_key, self._created),
            etcd.modified_at(key, self._revisions.get(name, 0)),
        ]
        try:
            answer = await self._client.transaction(fence, [change])
        except LogError:
            self._resigned.set()  # whether it was committed is unknown: read everything again before deciding more
            raise
        if not answer.get("succeeded"):
            self._resigned.set()
            raise NotLeader("another node has become the leader")
        self._note(name, int(answer["header"]["revision"]), present=state is not None)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._lease:
            with contextlib.suppress(LogError):
                await self._client.revoke(self._lease)
        self._stop_leading()
        await self._client.close()
        await self._watcher.close()

    # -- leadership ----------------------------------------------------------------------------------------------

    async def _campaign(self) -> None:
        while True:
            try:
                if await self._try_to_lead():
                    await self._lead()
                    continue
            except LogError as error:
                self.problem = str(error)
                self._lease = 0
                await asyncio.sleep(_RETRY_S)
                continue
            self.problem = None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._resigned.wait(), RENEW_S)  # also set when the leader key is deleted
            self._resigned.clear()

    async def _try_to_lead(self) -> bool:
        if not self._lease or not await self._client.keep_alive(self._lease):
            self._lease = await self._client.grant(LEASE_S)
        started = time.monotonic()
        answer = await self._client.transaction(
            [etcd.created_at(self._leader_key, 0)],
            [etcd.put(self._leader_key, _encode(self._node), lease=self._lease)],
            [etcd.get(self._leader_key)],
        )
        if answer.get("succeeded"):
            self._created, self._renewed_at = int(answer["header"]["revision"]), started
            return True
        found = etcd.ranged(answer)
        if found is not None and found.value is not None:
            self._leader, self._leader_seen_at = _decode_node(found.value), time.monotonic()
        return False

    async def _lead(self) -> None:
        """Load all sets, then renew the lease until that fails."""
        try:
            self._resigned.clear()
            rows, revision = await self._client.range(self._sets_prefix)
            sets = self._take_all(rows, revision)
            if self._listener is not None and self.is_leader:
                self._listener.on_sets(sets)
                self._listener.on_leading(True)
            self.problem = None
            while self.is_leader:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._resigned.wait(), RENEW_S)
                    return
                started = time.monotonic()
                try:
                    if not await self._client.keep_alive(self._lease):
                        return
                    self._renewed_at = started
                    self.problem = None
                except LogError as error:
                    self.problem = str(error)
                    await asyncio.sleep(_RETRY_S / 2)
        finally:
            self._stop_leading()
            lease, self._lease = self._lease, 0
            with contextlib.suppress(LogError):
                await self._client.revoke(lease)
            self._resigned.clear()

    def _stop_leading(self) -> None:
        if self._created:
            self._created = 0
            if self._listener is not None:
                self._listener.on_leading(False)

    # -- following -----------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            try:
                rows, revision = await self._watcher.range(self._sets_prefix)
                self._publish(self._take_all(rows, revision))
                prefix = self._leader_key.rpartition(b"/")[0] + b"/"
                async for changes in self._watcher.watch(prefix, from_revision=revision + 1):
                    for change in changes:
                        self._take(change)
            except LogError as error:
                self.problem = str(error)
            self._watcher.next_endpoint()
            await asyncio.sleep(_RETRY_S)

    def _publish(self, sets: dict[str, BrokerSet]) -> None:
        if self._listener is not None and not self._created:
            self._listener.on_sets(sets)

    def _take(self, change: etcd.KeyValue) -> None:
        if change.key == self._leader_key:
            if change.value is None:
                self._leader = None
                self._resigned.set()  # campaign at once
            else:
                self._leader, self._leader_seen_at = _decode_node(change.value), time.monotonic()
            return
        if not change.key.startswith(self._sets_prefix):
            return
        name = change.key[len(self._sets_prefix) :].decode("utf-8", "surrogatepass")
        if change.mod_revision <= self._seen.get(name, 0):
            return
        self._note(name, change.mod_revision, present=change.value is not None)
        if self._listener is not None:
            self._listener.on_set(name, None if change.value is None else _decode_set(change.value))

    def _take_all(self, rows: list[etcd.KeyValue], revision: int) -> dict[str, BrokerSet]:
        """All sets as of one revision. A set that is known at a newer revision keeps it."""
        sets = {}
        for row in rows:
            name = row.key[len(self._sets_prefix) :].decode("utf-8", "surrogatepass")
            sets[name] = _decode_set(row.value or b"")
            if row.mod_revision >= self._seen.get(name, 0):
                self._note(name, row.mod_revision, present=True)
        for name in [name for name in self._revisions if name not in sets and self._seen.get(name, 0) <= revision]:
            self._note(name, revision, present=False)
        return sets

    def _note(self, name: str, revision: int, *, present: bool) -> None:
        self._seen[name] = revision
        if present:
            self._revisions[name] = revision
        else:
            self._revisions.pop(name, None)

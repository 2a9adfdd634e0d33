"""The log of several controller nodes: etcd keeps the sets, elects the leader by a lease and fences every commit.

PREFIX/leader      {"id", "address"} of the leader, bound to its lease
PREFIX/sets/NAME   the state of one set, JSON

A commit is one transaction: the leader key must be the one this node created, and the set's key must be at the
revision this node has seen. A former leader can therefore never commit, and a transaction that is sent twice takes
effect once. If no answer arrives, the same transaction is sent again until its outcome is certain; where that fails,
the node resigns, which also fences copies still on their way, and reads everything before it leads again.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from routebook.controller.state import BrokerSet, Event
from routebook.server.controller.etcd_client import Compacted, EtcdClient
from routebook.server.controller.etcd_leadership import RETRY_S, Leadership
from routebook.server.controller.etcd_messages import (
    KeyValue,
    Transaction,
    WatchEvent,
    created_at,
    delete,
    get,
    modified_at,
    put,
)
from routebook.server.controller.etcd_mirror import Mirror
from routebook.server.controller.log import LogError, LogListener, Node, NotLeader

MAX_COMMIT_S: Final = 4.0

_encode = msgspec.json.Encoder().encode


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
        self._prefix = f"{prefix}/".encode()
        self.client = EtcdClient(endpoints, verify=verify, auth=auth)
        self._leadership = Leadership(self.client, self._prefix + b"leader", node)
        self._mirror = Mirror(self._prefix + b"sets/")
        self._is_loaded = False  # in this term: only then may this node answer as the leader
        self._listener: LogListener | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._campaign_problem: str | None = None
        self._watch_problem: str | None = None

    @property
    def leader(self) -> Node | None:
        return self._node if self.is_leader else self._leadership.other_leader

    @property
    def is_leader(self) -> bool:
        return self._is_loaded and self._leadership.is_held

    @property
    def problem(self) -> str | None:
        return self._campaign_problem or self._leadership.renewal_problem or self._watch_problem

    @property
    def problems(self) -> dict[tuple[str, str], int]:
        return dict(self.client.problems)

    async def start(self, listener: LogListener) -> None:
        self._listener = listener
        self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._campaign())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()

    async def confirm(self) -> None:
        if not (self.is_leader and await self._leadership.is_confirmed() and self.is_leader):
            self._leadership.resign()
            raise NotLeader("this node does not lead")

    # -- commits -------------------------------------------------------------------------------------------------

    async def commit(self, event: Event, state: BrokerSet | None) -> None:
        if not self.is_leader:
            raise NotLeader("this node does not lead")
        name, term = event.broker, self._leadership.term
        key, expected = self._mirror.key(name), self._mirror.revision(name)
        value = None if state is None else _encode(state)
        answer = await self._send(
            [created_at(self._leadership.key, term), modified_at(key, expected)],
            delete(key) if value is None else put(key, value),
            [get(self._leadership.key), get(key)],
            term,
        )
        if answer.succeeded:
            revision = answer.header.revision
        else:
            leader, found = answer.found(0), answer.found(1)
            if not _is_done(found, value, expected):
                self._leadership.resign()
                if leader is None or leader.create_revision != term:
                    raise _outcome(found, expected)
                raise LogError(f"etcd key {key!r} was changed by another program; the node reads it and leads again")
            revision = answer.header.revision if found is None else found.mod_revision
        if self._mirror.take(name, revision, exists=state is not None) and self._listener is not None:
            self._listener.on_set(name, state)

    async def _send(
        self, compare: list[dict[str, Any]], change: dict[str, Any], otherwise: list[dict[str, Any]], term: int
    ) -> Transaction:
        """The answer to a transaction, sent until there is one. Raises LogError where its outcome stays unknown."""
        until = time.monotonic() + MAX_COMMIT_S
        while True:
            try:
                return await self.client.transaction(compare, [change], otherwise)
            except LogError:
                if not self.is_leader or self._leadership.term != term or time.monotonic() > until:
                    if self._leadership.term == term:
                        self._leadership.resign()
                    raise
            await asyncio.sleep(RETRY_S)

    # -- leadership ----------------------------------------------------------------------------------------------

    async def _campaign(self) -> None:
        while True:
            try:
                if await self._leadership.try_to_lead():
                    await self._lead()
                    continue
                self._campaign_problem = None
            except LogError as error:
                self._campaign_problem = str(error)
                self._report(error)
                await asyncio.sleep(RETRY_S)
            else:
                await self._leadership.wait_for_change()

    async def _lead(self) -> None:
        """Load all sets, and renew the lease until that fails."""
        loading = asyncio.create_task(self._load())
        try:
            while await self._leadership.wait_and_renew():
                if loading.done():
                    loading.result()
        finally:
            loading.cancel()
            self._stop_leading()
            await asyncio.wait({loading})
            await self._leadership.release()

    async def _load(self) -> None:
        rows, revision = await self.client.load(self._mirror.prefix)
        sets = self._mirror.load(rows, revision)
        self._is_loaded, self._campaign_problem = True, None
        if self._listener is not None:
            self._listener.on_sets(sets)
            self._listener.on_leading(True)

    def _report(self, error: LogError) -> None:
        if self._listener is not None:
            self._listener.on_problem(str(error))

    def _stop_leading(self) -> None:
        if self._is_loaded:
            self._is_loaded = False
            if self._listener is not None:
                self._listener.on_leading(False)

    # -- following -----------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Read everything, then watch; read everything again if etcd has compacted the revisions in between."""
        seen: int | None = None
        while True:
            try:
                _, revision = await self.client.get(self._leadership.key)  # from a majority: this member belongs to it
                if seen is None or revision < seen:  # lower: etcd was restored from a backup
                    seen = await self._read_all()
                seen = await self._watch(seen)
                self._watch_problem = None
            except Compacted:
                seen = None
            except LogError as error:
                self._watch_problem, seen = str(error), None
                self._report(error)
                await asyncio.sleep(RETRY_S)

    async def _read_all(self) -> int:
        rows, revision = await self.client.load(self._mirror.prefix)
        if not self._leadership.term:  # a leader has loaded everything, and only it commits
            sets = self._mirror.load(rows, revision)
            if self._listener is not None:
                self._listener.on_sets(sets)
        return revision

    async def _watch(self, seen: int) -> int:
        """Take changes after a revision until the watch ends; the revision of the last one."""
        async with contextlib.aclosing(self.client.watch(self._prefix, from_revision=seen + 1)) as results:
            async for result in results:
                self._watch_problem = None
                for event in result.events:
                    self._take(event)
                    seen = max(seen, event.kv.mod_revision)
        return seen

    def _take(self, event: WatchEvent) -> None:
        if event.kv.key == self._leadership.key:
            self._leadership.take(event)
        elif event.kv.key.startswith(self._mirror.prefix):
            changed = self._mirror.take_row(event.kv, is_deletion=event.is_deletion)
            if changed is not None and self._listener is not None:
                self._listener.on_set(*changed)


def _is_done(found: KeyValue | None, value: bytes | None, expected: int) -> bool:
    """Whether a copy of a refused transaction has taken effect before: the key is as the transaction would leave it."""
    if found is None or value is None:
        return found is None and value is None
    return found.mod_revision != expected and found.value == value


def _outcome(found: KeyValue | None, expected: int) -> LogError | NotLeader:
    """Another node leads: no copy of the transaction can take effect any more, but one may have."""
    if (0 if found is None else found.mod_revision) == expected:
        return NotLeader("another node has become the leader")
    return LogError("another node has become the leader, and the outcome of the change is unknown; read it")

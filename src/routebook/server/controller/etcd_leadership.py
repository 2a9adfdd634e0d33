"""Leadership by a lease in etcd: the node that created the leader key leads until its lease ends.

A term is the revision at which the key was created; commits are fenced by it. The holder renews its lease every
RENEW_S, and each renewal also reads the key from a majority. If the last renewal began more than MAX_UNRENEWED_S ago by
this node's monotonic clock, it does not lead any more, and etcd has not yet given the key to another node.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final

import msgspec

from routebook.server.controller.etcd_client import EtcdClient
from routebook.server.controller.etcd_messages import KeyValue, WatchEvent, created_at, get, put
from routebook.server.controller.log import LogError, Node

LEASE_S: Final = 2
RENEW_S: Final = 0.5
MAX_UNRENEWED_S: Final = 1.5
LEADER_UNKNOWN_AFTER_S: Final = 3.0
RETRY_S: Final = 0.1

_encode = msgspec.json.Encoder().encode


def boot_time() -> float:
    """A monotonic clock that also counts the time in which the machine is suspended, as etcd does for the lease."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


_decode = msgspec.json.Decoder(Node).decode


class Leadership:
    """This node's part in the election of the leader."""

    def __init__(
        self, client: EtcdClient, key: bytes, node: Node, *, monotonic: Callable[[], float] = boot_time
    ) -> None:
        self._client = client
        self.key = key
        self._node = node
        self._monotonic = monotonic
        self._lease = 0
        self._renewed_at = 0.0
        self._leader: Node | None = None
        self._leader_seen_at = 0.0
        self._changed = asyncio.Event()  # the key was deleted or replaced, or this node resigns
        self.term = 0  # 0: this node does not hold the key
        self.renewal_problem: str | None = None

    @property
    def is_held(self) -> bool:
        return self.term != 0 and self._monotonic() - self._renewed_at < MAX_UNRENEWED_S

    @property
    def other_leader(self) -> Node | None:
        """The other node that leads, as far as this one has seen recently."""
        if self.term or self._monotonic() - self._leader_seen_at > LEADER_UNKNOWN_AFTER_S:
            return None
        return self._leader

    async def try_to_lead(self) -> bool:
        """Create the leader key if there is none. Raises LogError."""
        found, _ = await self._client.get(self.key)
        if found is not None:
            self._see(found)
            return False
        lease = await self._client.grant(LEASE_S)
        started = self._monotonic()
        try:
            answer = await self._client.transaction(
                [created_at(self.key, 0)], [put(self.key, _encode(self._node), lease=lease)], [get(self.key)]
            )
        except LogError:
            await self._revoke(lease)  # the key may have been created
            raise
        if answer.succeeded:
            term = answer.header.revision
        else:
            found = answer.found(0)
            if found is None or found.lease != lease:  # with this lease: created by an earlier copy of the request
                if found is not None:
                    self._see(found)
                return False
            term = found.create_revision
        self._changed.clear()
        self.term, self._lease, self._renewed_at = term, lease, started
        return True

    async def wait_and_renew(self) -> bool:
        """Wait until the next renewal is due, and renew; False: this node does not lead any more."""
        if await self.wait_for_change():
            return False
        while self.is_held and not self._changed.is_set():
            started = self._monotonic()
            try:
                async with asyncio.timeout(MAX_UNRENEWED_S - (started - self._renewed_at)):
                    alive, (found, _) = await asyncio.gather(
                        self._client.keep_alive(self._lease), self._client.get(self.key)
                    )
            except TimeoutError:
                break
            except LogError as error:
                self.renewal_problem = str(error)
                await asyncio.sleep(RETRY_S)
                continue
            if not alive or found is None or found.create_revision != self.term:
                return False
            self._renewed_at, self.renewal_problem = started, None
            return True
        return False

    async def wait_for_change(self) -> bool:
        """Until the leader key changes, but at most RENEW_S; whether it has changed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RENEW_S):
                await self._changed.wait()
        changed = self._changed.is_set()
        self._changed.clear()
        return changed

    async def is_confirmed(self) -> bool:
        """Whether a majority of etcd still has this node's key. Raises LogError."""
        term = self.term
        found, _ = await self._client.get(self.key)
        return found is not None and found.create_revision == term == self.term

    def resign(self) -> None:
        """End leadership soon: `wait_and_renew` returns False."""
        if self.term:
            self._renewed_at = float("-inf")
            self._changed.set()

    async def release(self) -> None:
        """Forget the term and delete the key, so that another node leads at once."""
        lease, self._lease, self.term, self.renewal_problem = self._lease, 0, 0, None
        if lease:
            await self._revoke(lease)

    def take(self, event: WatchEvent) -> None:
        """A change of the leader key, from the watch, which may be late: changes before this node's term are past."""
        if self.term:
            if event.kv.mod_revision > self.term:
                self.resign()
        elif event.is_deletion:
            self._leader = None
            self._changed.set()
        else:
            self._see(event.kv)

    async def _revoke(self, lease: int) -> None:
        with contextlib.suppress(LogError):  # then it expires
            await self._client.revoke(lease)

    def _see(self, found: KeyValue) -> None:
        try:
            self._leader, self._leader_seen_at = _decode(found.value), self._monotonic()
        except msgspec.MsgspecError as error:
            raise LogError(f"etcd key {self.key.decode()} is not a Controller's: {error}; delete it") from None

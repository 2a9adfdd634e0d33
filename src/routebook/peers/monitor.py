"""Compares with every peer in turn, and keeps what it found for whoever asks."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from routebook.client.client import NameServerClient
from routebook.client.signing import Credentials
from routebook.disagreements import Disagreement
from routebook.errors import RoutebookError
from routebook.events import PeerAgreed, PeerDiverged
from routebook.peers.address import parse_peer
from routebook.peers.compare_round import Comparison, Round
from routebook.peers.divergence import Divergence
from routebook.peers.fetch import PeerHttp
from routebook.routes import RouteTable

_SHOWN: Final = 50  # differences in a report
_TIMEOUT_S: Final = 5.0
_FIRST_S: Final = 5.0  # brokers that register now do so here and there


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How one peer and this NameServer agree, as of the last round that it answered."""

    peer: str
    state: Literal["unknown", "agrees", "differs", "diverged", "unreachable"]
    since_ms: int | None  # since when it is unreachable, or the oldest difference is there
    checked_ms: int | None  # when it last answered
    by: str | None  # digest or sample
    requests: int  # that the last round took
    rounds: int
    failures: int
    problem: str | None  # why it is unreachable, or why its digest could not be had
    total: int  # things that differ
    lasting: int  # of these, for longer than a change needs to arrive everywhere
    differences: list[Disagreement]  # some of them


class Watched:
    """One peer and what is known of it."""

    def __init__(
        self, text: str, routes: RouteTable, *, lasting_ms: int, credentials: Credentials | None = None
    ) -> None:
        address = parse_peer(text)
        self.name = str(address)
        self._client = NameServerClient(
            address.remoting, timeout_s=_TIMEOUT_S, connect_timeout_s=_TIMEOUT_S, credentials=credentials
        )
        port = address.http_port
        host = address.remoting.host
        self._fetch = None if port is None else PeerHttp(host, port, timeout_s=_TIMEOUT_S, credentials=credentials)
        self._comparison = Comparison(routes, self._client, peer=self.name, fetch=self._fetch)
        self._divergence = Divergence(self.name, lasting_ms=lasting_ms)
        self._last: Round | None = None
        self._checked_ms: int | None = None
        self._unreachable: str | None = None
        self._unreachable_ms: int | None = None
        self._rounds = 0
        self._failures = 0

    async def round(self, now_ms: Callable[[], int]) -> Sequence[PeerDiverged | PeerAgreed]:
        """Compare once; what that tells."""
        self._rounds += 1
        try:
            found = await self._comparison.round(self._divergence.topics)
        except RoutebookError as problem:
            self._failures += 1
            if self._unreachable is None:
                self._unreachable_ms = now_ms()
            self._unreachable = str(problem)
            return ()
        self._last, self._checked_ms = found, now_ms()
        self._unreachable = self._unreachable_ms = None
        topics = found.topics
        looked_at = (lambda _topic: True) if topics is None else topics.__contains__
        return self._divergence.compared(found.found, self._checked_ms, looked_at=looked_at)

    def status(self, now_ms: int) -> PeerStatus:
        divergence, last = self._divergence, self._last
        http_problem = None if self._fetch is None else self._fetch.problem
        return PeerStatus(
            peer=self.name,
            state=self._state(),
            since_ms=self._unreachable_ms or min(divergence.since.values(), default=None),
            checked_ms=self._checked_ms,
            by=None if last is None else last.by,
            requests=0 if last is None else last.requests,
            rounds=self._rounds,
            failures=self._failures,
            problem=self._unreachable or http_problem,
            total=len(divergence.since),
            lasting=len(divergence.lasting(now_ms)),
            differences=[] if last is None else last.found[:_SHOWN],
        )

    def _state(self) -> Literal["unknown", "agrees", "differs", "diverged", "unreachable"]:
        if self._unreachable is not None:
            return "unreachable"
        if self._last is None:
            return "unknown"
        if self._divergence.diverged_since_ms is not None:
            return "diverged"
        return "differs" if self._divergence.since else "agrees"

    async def aclose(self) -> None:
        await self._client.aclose()


class Peers:
    """`start` in a running loop, `stop` before it ends. `told` gets the events, to be recorded."""

    def __init__(
        self,
        peers: Sequence[str],
        routes: RouteTable,
        *,
        interval_s: float,
        diverged_s: float,
        now_ms: Callable[[], int],
        told: Callable[[Sequence[PeerDiverged | PeerAgreed]], object],
        credentials: Credentials | None = None,
    ) -> None:
        lasting_ms = int(diverged_s * 1000)
        self._watched = [Watched(peer, routes, lasting_ms=lasting_ms, credentials=credentials) for peer in peers]
        self._interval_s = interval_s
        self._now_ms = now_ms
        self._told = told
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._watch(watched)) for watched in self._watched]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        for watched in self._watched:
            await watched.aclose()

    async def round(self) -> None:
        """Compare with each of them once, now."""
        for watched in self._watched:
            self._tell(await watched.round(self._now_ms))

    def report(self) -> list[PeerStatus]:
        """Each peer, as the settings list them."""
        now_ms = self._now_ms()
        found = [watched.status(now_ms) for watched in self._watched]
        for number, task in enumerate(self._tasks):
            if task.done() and not task.cancelled() and (bug := task.exception()) is not None:
                problem = f"the comparison has ended: {type(bug).__name__}: {bug}"
                found[number] = msgspec.structs.replace(found[number], state="unknown", problem=problem)
        return found

    async def _watch(self, watched: Watched) -> None:
        await asyncio.sleep(min(_FIRST_S, self._interval_s))
        while True:
            self._tell(await watched.round(self._now_ms))
            await asyncio.sleep(self._interval_s)

    def _tell(self, events: Sequence[PeerDiverged | PeerAgreed]) -> None:
        if events:
            self._told(events)

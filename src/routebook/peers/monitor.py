"""Compares with every peer periodically, and keeps the results for health, metrics and the API."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from routebook.client.addresses import parse_address
from routebook.client.client import NameServerClient
from routebook.client.signing import Credentials
from routebook.disagreements import Disagreement
from routebook.errors import RoutebookError
from routebook.events import PeerAgreed, PeerDiverged
from routebook.peers.compare_round import Comparison, Round
from routebook.peers.divergence import Divergence
from routebook.peers.fetch import PeerHttp
from routebook.routes import RouteTable

_MAX_DIFFERENCES: Final = 50  # in a status
_TIMEOUT_S: Final = 5.0
_FIRST_DELAY_S: Final = 5.0  # after a restart brokers are still registering


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the last round with one peer."""

    peer: str
    state: Literal["unknown", "agrees", "differs", "diverged", "unreachable"]
    since_ms: int | None  # start of the outage, or of the oldest difference
    checked_ms: int | None  # time of the last response
    by: str | None  # digest or sample
    requests: int  # in the last round
    rounds: int
    failures: int
    problem: str | None  # why it is unreachable, or why its digest is not available
    total: int  # number of differences
    lasting: int  # those that have lasted longer than the limit
    differences: list[Disagreement]  # the first of them


class MonitoredPeer:
    """One peer and the results of its rounds."""

    def __init__(
        self, text: str, routes: RouteTable, *, lasting_ms: int, credentials: Credentials | None = None
    ) -> None:
        """`text` is a validated setting: HOST:PORT, or HOST:PORT/HTTP-PORT for a Routebook."""
        remoting, _, http_port = text.partition("/")
        address = parse_address(remoting)
        self.name = str(address)
        self._client = NameServerClient(
            address, timeout_s=_TIMEOUT_S, connect_timeout_s=_TIMEOUT_S, credentials=credentials
        )
        self._fetch = PeerHttp(address.host, int(http_port), credentials=credentials) if http_port else None
        self._comparison = Comparison(routes, self._client, peer=self.name, fetch=self._fetch)
        self._divergence = Divergence(self.name, lasting_ms=lasting_ms)
        self._last: Round | None = None
        self._checked_ms: int | None = None
        self._unreachable: str | None = None
        self._unreachable_ms: int | None = None
        self._rounds = 0
        self._failures = 0

    async def round(self, now_ms: Callable[[], int]) -> Sequence[PeerDiverged | PeerAgreed]:
        """Compare once and return the events."""
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
        was_compared = (lambda _topic: True) if topics is None else topics.__contains__
        return self._divergence.update(found.found, self._checked_ms, was_compared=was_compared)

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
            differences=[] if last is None else last.found[:_MAX_DIFFERENCES],
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
    """Compares with all peers; `on_events` receives the events to record. Start and stop it in a running loop."""

    def __init__(
        self,
        peers: Sequence[str],
        routes: RouteTable,
        *,
        interval_s: float,
        diverged_s: float,
        now_ms: Callable[[], int],
        on_events: Callable[[Sequence[PeerDiverged | PeerAgreed]], object],
        credentials: Credentials | None = None,
    ) -> None:
        lasting_ms = int(diverged_s * 1000)
        self._peers = [
            MonitoredPeer(address, routes, lasting_ms=lasting_ms, credentials=credentials) for address in peers
        ]
        self._interval_s = interval_s
        self._now_ms = now_ms
        self._on_events = on_events
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._run(peer)) for peer in self._peers]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        for peer in self._peers:
            await peer.aclose()

    async def round(self) -> None:
        """Compare with every peer once."""
        for peer in self._peers:
            self._report(await peer.round(self._now_ms))

    def report(self) -> list[PeerStatus]:
        """Return the status of every peer, in the order of the settings."""
        now_ms = self._now_ms()
        found = [peer.status(now_ms) for peer in self._peers]
        for number, task in enumerate(self._tasks):
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                problem = f"the comparison failed: {type(error).__name__}: {error}"
                found[number] = msgspec.structs.replace(found[number], state="unknown", problem=problem)
        return found

    async def _run(self, peer: MonitoredPeer) -> None:
        await asyncio.sleep(min(_FIRST_DELAY_S, self._interval_s))
        while True:
            self._report(await peer.round(self._now_ms))
            await asyncio.sleep(self._interval_s)

    def _report(self, events: Sequence[PeerDiverged | PeerAgreed]) -> None:
        if events:
            self._on_events(events)

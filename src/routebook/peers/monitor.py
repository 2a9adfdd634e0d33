"""Compares with every peer periodically, and keeps the results for health, metrics and the API."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal

import msgspec

from routebook.client.addresses import parse_address
from routebook.client.client import NameServerClient
from routebook.client.http import path_segment
from routebook.client.signing import Credentials
from routebook.disagreements import Disagreement
from routebook.errors import RoutebookError
from routebook.events import PeerAgreed, PeerDiverged
from routebook.journal.chain import ChainHead
from routebook.model import BrokerKey
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
    total: int  # number of differences, each topic of a broker counted
    groups: int  # number of groups of equal differences in the last round
    lasting: int  # those that have lasted longer than the limit
    differences: list[Disagreement]  # the first of them
    chains: tuple[ChainHead, ...] = ()  # the newest heads of its journal


class _Member(msgspec.Struct, frozen=True):
    addr: str
    cluster: str
    state: str


class _Group(msgspec.Struct, frozen=True):
    members: list[_Member]


class _Brokers(msgspec.Struct, frozen=True):
    """The part of `/v1/brokers` that is needed."""

    groups: list[_Group]
    next: str | None = None


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

    async def hears(self, keys: Collection[BrokerKey]) -> bool | None:
        """Whether the peer receives heartbeats of most of these brokers; None if it does not answer.

        Any NameServer lists the brokers that it has; a Routebook also reports which of them are silent.
        """
        heard: set[BrokerKey] | None = None
        if self._fetch is not None:
            heard = await self._heard_by_routebook(self._fetch)
        if heard is None:
            try:
                info = await self._client.cluster_info()
            except RoutebookError:
                return None
            groups = info.broker_addr_table.values()
            heard = {BrokerKey(group.cluster or "", addr) for group in groups for addr in group.broker_addrs.values()}
        return sum(key in heard for key in keys) * 2 > len(keys)

    async def _heard_by_routebook(self, fetch: PeerHttp) -> set[BrokerKey] | None:
        heard: set[BrokerKey] = set()
        after: str | None = ""
        while after is not None:
            page = await fetch.get(f"/v1/brokers?limit=1000&after={path_segment(after)}", _Brokers)
            if page is None:
                return None
            members = [member for group in page.groups for member in group.members]
            heard |= {BrokerKey(one.cluster, one.addr) for one in members if one.state == "registered"}
            after = page.next
        return heard

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
            groups=0 if last is None else len(last.found),
            lasting=len(divergence.lasting(now_ms)),
            differences=[] if last is None else last.found[:_MAX_DIFFERENCES],
            chains=self.chains,
        )

    @property
    def chains(self) -> tuple[ChainHead, ...]:
        """The newest heads of its journal's hash chains."""
        return () if self._last is None else self._last.chains

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
    """Compares with all peers. Start and stop it in a running loop.

    `on_events` receives the events to record, `on_heads` the heads of peers' journals after each round.
    """

    def __init__(
        self,
        peers: Sequence[str],
        routes: RouteTable,
        *,
        interval_s: float,
        diverged_s: float,
        now_ms: Callable[[], int],
        on_events: Callable[[Sequence[PeerDiverged | PeerAgreed]], object],
        on_heads: Callable[[Sequence[ChainHead]], object] = lambda _: None,
        credentials: Credentials | None = None,
    ) -> None:
        lasting_ms = int(diverged_s * 1000)
        self._peers = [
            MonitoredPeer(address, routes, lasting_ms=lasting_ms, credentials=credentials) for address in peers
        ]
        self._interval_s = interval_s
        self._now_ms = now_ms
        self._on_events = on_events
        self._on_heads = on_heads
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
            await self._round(peer)

    async def ask(self, keys: Collection[BrokerKey]) -> list[bool]:
        """Ask every peer whether it hears most of these brokers; the answers of those that respond."""
        answers = await asyncio.gather(*(peer.hears(keys) for peer in self._peers))
        return [hears for hears in answers if hears is not None]

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
            await self._round(peer)
            await asyncio.sleep(self._interval_s)

    async def _round(self, peer: MonitoredPeer) -> None:
        events = await peer.round(self._now_ms)
        if events:
            self._on_events(events)
        if peer.chains:
            self._on_heads(peer.chains)

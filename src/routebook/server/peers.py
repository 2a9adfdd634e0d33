"""Peer comparison of this server: created from the settings, recorded as events, reported as health."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from routebook.handlers import NameServer, Outcome
from routebook.handlers.expiry_protection import PeerAnswers
from routebook.model import BrokerKey
from routebook.routes import RouteTable
from routebook.server.observe.health import Condition, Fact, Part
from routebook.server.state.atomic_file import write_atomically
from routebook.server.state.recorder import Recorder
from routebook.settings import Settings

if TYPE_CHECKING:
    from routebook.journal.chain import ChainHead
    from routebook.peers.monitor import Peers


def open_peers(
    settings: Settings,
    routes: RouteTable,
    recorder: Recorder,
    *,
    now_ms: Callable[[], int],
    wall_ms: Callable[[], int],
    home: Path | None = None,
) -> "Peers | None":
    """The peer monitor, not started; None without configured peers. Raises UsageError for an invalid address.

    The heads of peers' journals are stored in `home`.
    """
    if not settings.peers:
        return None
    from routebook.client.signing import Credentials  # noqa: PLC0415  only with peers
    from routebook.peers.monitor import Peers  # noqa: PLC0415

    access_key, secret_key = settings.peers_credentials
    return Peers(
        settings.peers,
        routes,
        interval_s=settings.peers_interval_s,
        diverged_s=settings.peers_diverged_s,
        now_ms=now_ms,
        on_events=lambda events: recorder.record(events, at_ms=wall_ms()),
        on_heads=WitnessFile(home, wall_ms).store if home is not None else lambda _: None,
        credentials=Credentials(access_key=access_key, secret_key=secret_key) if access_key or secret_key else None,
    )


class WitnessFile:
    """Stores the heads of peers' journals in `witness.json`."""

    def __init__(self, home: Path, wall_ms: Callable[[], int]) -> None:
        from routebook.peers.witness import FILE_NAME, Witness, decode_witness  # noqa: PLC0415  only with peers

        self._path = home / FILE_NAME
        self._wall_ms = wall_ms
        self._writing: asyncio.Future[None] | None = None
        self.witness = Witness()
        with contextlib.suppress(OSError, ValueError):  # missing or damaged: a new one is begun
            self.witness = decode_witness(self._path.read_bytes())

    def store(self, heads: "Sequence[ChainHead]") -> None:
        """Add the heads; the file is written by a thread, at most one at a time."""
        self.witness = self.witness.seen(heads, self._wall_ms())
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(asyncio.to_thread(self._write))

    def _write(self) -> None:
        from routebook.peers.witness import encode_witness  # noqa: PLC0415  only with peers

        with contextlib.suppress(OSError):  # the next round tries again
            write_atomically(self._path, encode_witness(self.witness))


class SilenceQuestion:
    """Asks the peers about brokers that are silent here, before expiry protection starts."""

    def __init__(
        self, peers: "Peers", nameserver: NameServer, apply: Callable[[Outcome], object], now_ms: Callable[[], int]
    ) -> None:
        self._peers = peers
        self._nameserver = nameserver
        self._apply = apply
        self._now_ms = now_ms
        self._task: asyncio.Task[None] | None = None
        nameserver.expiry_protection.asks_peers = True

    def check(self) -> None:
        """Ask if there is a question that was not asked yet; called after each scan."""
        question = self._nameserver.expiry_protection.question
        if question is not None and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._ask(question))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _ask(self, question: frozenset[BrokerKey]) -> None:
        hears = await self._peers.ask(question)
        answers = PeerAnswers(answered=len(hears), missing=hears.count(False))
        self._apply(self._nameserver.peers_answered(answers, self._now_ms()))


def peers_health(peers: "Peers") -> Part:
    """The health component `peers`: degraded if a peer has diverged or is unreachable."""
    report = peers.report()
    facts: dict[str, Fact] = {
        "peers": len(report),
        **{state: sum(one.state == state for one in report) for state in ("agrees", "differs", "diverged")},
        "unreachable": sum(one.state == "unreachable" for one in report),
        "differences": sum(one.total for one in report),
    }
    bad = [one for one in report if one.state in ("diverged", "unreachable")]
    if not bad:
        return Part(facts=facts)
    problems = [
        f"{one.peer} has diverged ({one.lasting} lasting differences)"
        if one.state == "diverged"
        else f"{one.peer} is unreachable: {one.problem}"
        for one in bad
    ]
    return Part(Condition.DEGRADED, f"{'; '.join(problems)}; see /v1/peers", facts)

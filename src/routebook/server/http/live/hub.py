"""Sends changes of the tables to all open consoles: each change is detected once and encoded once."""

import asyncio
import sqlite3
from collections.abc import Iterable
from itertools import takewhile
from typing import Final

import msgspec

from routebook import __version__
from routebook.doctor.maintenance import OwnTopics
from routebook.errors import RoutebookError
from routebook.journal.read.select import Selection
from routebook.journal.record import Record
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError
from routebook.server.http.live import messages
from routebook.server.http.live.broker_rows import BrokerRow, broker_rows
from routebook.server.http.live.overview import Overview, Rates, make_overview
from routebook.server.http.live.recent_activity import LOST_MS, RecentActivity
from routebook.server.http.live.tab import STOPPING, Tab
from routebook.server.http.thread_pool import ThreadPool
from routebook.server.http.views.permissions import read_only_groups
from routebook.server.observe.health import Condition, Fact, Part

_ROUND_S: Final = 0.1  # interval of rounds while consoles are open
_IDLE_ROUND_S: Final = 1.0  # without consoles
_COMPARE_MS: Final = 400
_OVERVIEW_MS: Final = 1000
_TOPICS_MS: Final = 3000  # interval of updates to topic counts
_BEATS_MS: Final = 5000
_EXPIRE_MS: Final = 10_000
_PRIME_RETRY_MS: Final = 1500  # while the history index catches up
_MAX_RECORDS: Final = 20_000  # queued between two rounds
_MINUTE_MS: Final = 60_000
_PERMISSION_KINDS: Final = frozenset({"permission_wiped", "permission_restored", "topics_changed", "broker_up"})
MINUTE_KINDS: Final = frozenset({"heartbeat_minute", "lookup_minute"})


class Hub:
    """`start` in a running event loop; consoles `join` and `leave`; `stop` disconnects them."""

    def __init__(self, context: HttpContext, threads: ThreadPool) -> None:
        self._context = context
        self._threads = threads
        self._tap = context.feed.tap(limit=_MAX_RECORDS)
        self._tabs: set[Tab] = set()
        self._rows: dict[str, BrokerRow] = {}  # as last sent
        self._seen: dict[str, int] = {}
        self._overview: Overview | None = None
        self._rates = Rates()
        self._snapshot: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._compared_ms = self._overview_ms = self._topics_ms = self._beats_ms = self._expired_ms = 0
        self._primed_ms = 0
        self._permissions_changed = True
        self._stopped = False
        self._priming: asyncio.Task[None] | None = None
        self._finding_read_only: asyncio.Task[None] | None = None
        self.recent = RecentActivity(since_ms=context.now_ms())
        self.seq = context.feed.last_seq or 0  # events up to this sequence number were sent

    def start(self) -> None:
        self._schedule()

    def stop(self) -> None:
        """Send `stopping` to every console."""
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._priming, self._finding_read_only):
            if task is not None:
                task.cancel()
        self.take_in()
        self._stopped = True
        for tab in self._tabs:
            tab.push(messages.encode_message(messages.Stopping(resume_after=self.seq)), seq=self.seq)
            tab.end(STOPPING, "the server is stopping")

    def join(self, tab: Tab) -> tuple[str, str]:
        """Add a console to the recipients; returns its first two messages, hello and snapshot."""
        now_ms = self._context.now_ms()
        self.take_in()
        if not self._tabs:
            self._compare(now_ms, everything=True)
            self._overview = self.overview(now_ms)
            self._snapshot = None
        self._tabs.add(tab)
        tab.done = self.seq
        if self._stopped:
            tab.end(STOPPING, "the server is stopping")
        else:
            self._schedule()
        return messages.encode_message(self._hello(now_ms)), self._snapshot_text(now_ms)

    def leave(self, tab: Tab) -> None:
        self._tabs.discard(tab)

    async def prime(self) -> None:
        """Load brokers that left before this start from history, once its index is up to date."""
        history = self._context.history
        now_ms = self._context.now_ms()
        if history is None:
            self.recent.primed = True  # no history
            return
        if self.recent.primed or not self._may_prime(now_ms):
            return
        self._primed_ms, since_ms = now_ms, now_ms - LOST_MS
        try:
            groups, last_seq = await self._threads.run(lambda: history.members(since_ms=since_ms))
        except (RoutebookError, ApiError, OSError, sqlite3.Error):
            return  # retried in a later round
        if last_seq >= self.seq or last_seq >= (self._context.feed.last_seq or 0):
            self.recent.prime(groups, since_ms=since_ms)

    def overview(self, now_ms: int) -> Overview:
        """The current key figures."""
        self._rates.sample(self._context, now_ms)
        rows = broker_rows(self._context.nameserver, self.recent, now_ms)
        return make_overview(
            self._context,
            rows.values(),
            self._rates,
            topics_lost=self.topics_lost(),
            misses_per_s=self._misses_per_s(),
            consoles=len(self._tabs),
            now_ms=now_ms,
        )

    def topics_lost(self) -> list[str]:
        """Topics of applications that lost their last broker within a day."""
        left = self.recent.lost.values()
        own = OwnTopics(brokers={one.name for one in left}, clusters={one.cluster for one in left})
        lost = self.recent.topics_without_route(self._context.nameserver.routes.topic_table)
        return [topic for topic in lost if topic not in own]

    def fleet_health(self) -> Part:
        """The health component `brokers`: degraded while all brokers are down."""
        brokers, down = self._context.nameserver.routes.sizes().brokers, len(self.recent.lost)
        facts: dict[str, Fact] = {"registered": brokers, "down": down}
        if brokers or not down:
            return Part(facts=facts)
        says = f"all {down} brokers are down: {len(self.topics_lost())} topics have no route"
        return Part(Condition.DEGRADED, f"{says}; check the brokers and their network", facts)

    # -- one round -------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = None if self._stopped else loop.call_later(_ROUND_S if self._tabs else _IDLE_ROUND_S, self._round)

    def _round(self) -> None:
        self._schedule()  # first: a failed round must not stop the updates; the event loop logs the failure
        now_ms = self._context.now_ms()
        changed = self.take_in()
        if now_ms - self._expired_ms >= _EXPIRE_MS:
            self._expired_ms = now_ms
            self.recent.expire(now_ms)
        if not self._tabs:
            self._rates.sample(self._context, now_ms)
            return
        if not self.recent.primed and (self._priming is None or self._priming.done()) and self._may_prime(now_ms):
            self._priming = asyncio.get_running_loop().create_task(self.prime())
        if self._permissions_changed and (self._finding_read_only is None or self._finding_read_only.done()):
            self._permissions_changed = False
            self._finding_read_only = asyncio.get_running_loop().create_task(self._find_read_only())
        if now_ms - self._compared_ms >= (_COMPARE_MS if changed else _OVERVIEW_MS):
            self._compare(now_ms, everything=now_ms - self._topics_ms >= _TOPICS_MS)
        if now_ms - self._overview_ms >= (_COMPARE_MS if changed else _OVERVIEW_MS):
            self._overview_ms = now_ms
            self._overview = self.overview(now_ms)
            self._snapshot = None
            self._push(messages.OverviewNow(overview=self._overview))
        if now_ms - self._beats_ms >= _BEATS_MS:
            self._beats_ms = now_ms
            self._send_beats(now_ms)

    async def _find_read_only(self) -> None:
        self.recent.read_only = await read_only_groups(self._context.nameserver)

    def _may_prime(self, now_ms: int) -> bool:
        return now_ms - self._primed_ms >= _PRIME_RETRY_MS

    def take_in(self) -> bool:
        """Process new records; returns whether any of them changes the tables."""
        tap = self._tap
        if not tap:
            return False
        records = [tap.popleft() for _ in range(len(tap))]
        self.recent.add(records)
        if self._tabs:
            self._send_events(records)
        self.seq = max(self.seq, records[-1].seq)
        self._permissions_changed |= any(record.kind in _PERMISSION_KINDS for record in records)
        return any(record.kind not in MINUTE_KINDS for record in records)

    def _compare(self, now_ms: int, *, everything: bool) -> None:
        """Send the rows that changed; changed topic counts only with `everything`."""
        self._compared_ms = now_ms
        known, fresh = self._rows, broker_rows(self._context.nameserver, self.recent, now_ms)
        if everything:
            self._topics_ms = now_ms
        changed = []
        for key, row in fresh.items():
            before = known.get(key)
            if before is None or not row.looks_like(before) or (everything and not row.has_same_topics(before)):
                changed.append(row)
        gone = [key for key in known if key not in fresh]
        if not changed and not gone:
            return
        for row in changed:
            known[row.key] = row
            self._seen[row.key] = row.last_seen_ms
        for key in gone:
            del known[key]
            self._seen.pop(key, None)
        self._snapshot = None
        self._push(messages.BrokersChanged(at_ms=now_ms, changed=changed, gone=gone))

    def _send_beats(self, now_ms: int) -> None:
        moved = {}
        for key, row in broker_rows(self._context.nameserver, self.recent, now_ms).items():
            if key in self._rows and self._seen.get(key) != row.last_seen_ms:
                moved[key] = self._seen[key] = row.last_seen_ms
                self._rows[key] = msgspec.structs.replace(self._rows[key], last_seen_ms=row.last_seen_ms)
        if moved:
            self._snapshot = None
            self._push(messages.BeatsNow(at_ms=now_ms, seen=moved))

    def _send_events(self, records: list[Record]) -> None:
        selections: dict[Selection | None, list[Tab]] = {}
        for tab in self._tabs:
            if not tab.off:
                selections.setdefault(tab.wanted, []).append(tab)
        seq = records[-1].seq
        for wanted, tabs in selections.items():
            selected = [messages.summarize(record) for record in select_events(records, wanted)]
            if selected:
                text = messages.encode_message(messages.Events(events=selected))
                for tab in tabs:
                    tab.push(text, seq=seq)

    def _push(self, message: messages.Message) -> None:
        if self._tabs:
            text = messages.encode_message(message)
            for tab in self._tabs:
                tab.push(text, seq=self.seq)

    # -- first messages of a console ---------------------------------------------------------------------------------

    def _hello(self, now_ms: int) -> messages.Hello:
        context = self._context
        return messages.Hello(
            ns=context.ns,
            boot=context.boot,
            version=__version__,
            listen=context.listen,
            started_at_ms=context.nameserver.started_ms,
            now_ms=now_ms,
            seq=self.seq,
        )

    def _snapshot_text(self, now_ms: int) -> str:
        if self._snapshot is None:
            current = self._overview or self.overview(now_ms)
            self._snapshot = messages.encode_message(
                messages.Snapshot(at_ms=now_ms, overview=current, brokers=list(self._rows.values()))
            )
        return self._snapshot

    def _misses_per_s(self) -> float:
        lookups = self.recent.lookups
        if not lookups or self._context.now_ms() - lookups[-1].minute_ms > 2 * _MINUTE_MS:
            return 0.0
        newest = takewhile(lambda row: row.minute_ms == lookups[-1].minute_ms, reversed(lookups))
        return round(sum(row.misses for row in newest) / 60, 2)


def select_events(records: Iterable[Record], wanted: Selection | None) -> list[Record]:
    """The records that a console selected; by default all but the per-minute counts."""
    if wanted is None:
        return [record for record in records if record.kind not in MINUTE_KINDS]
    return [record for record in records if wanted.fits(record)]

"""Looks at the tables for all open consoles together: what changed is found once, encoded once, and handed to each."""

import asyncio
import sqlite3
from collections.abc import Iterable
from typing import Final

import msgspec

from routebook import __version__
from routebook.errors import RoutebookError
from routebook.history.query.history import History
from routebook.journal.read.select import Selection
from routebook.journal.record import Record
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal
from routebook.server.http.live.messages import (
    BeatsNow,
    BrokersChanged,
    Events,
    Hello,
    Message,
    OverviewNow,
    Snapshot,
    Stopping,
    text_of,
)
from routebook.server.http.live.overview import Overview, Rates, overview
from routebook.server.http.live.recent import LOST_MS, Recent
from routebook.server.http.live.rows import BrokerRow, broker_rows
from routebook.server.http.live.shortened import shortened
from routebook.server.http.live.tab import STOPS, Tab
from routebook.server.http.threads import Threads
from routebook.server.observe.log import get_log

_LOOK_S: Final = 0.1  # for events, while somebody looks
_IDLE_S: Final = 1.0  # for what is remembered, while nobody does
_COMPARE_MS: Final = 400
_OVERVIEW_MS: Final = 1000
_TOPICS_MS: Final = 3000  # between two tellings that topic counts changed
_BEATS_MS: Final = 5000
_FORGET_MS: Final = 10_000
_ASK_AGAIN_MS: Final = 1500  # history, while it catches up
_MOST_RECORDS: Final = 20_000  # between two looks
_MINUTE_MS: Final = 60_000
MINUTES: Final = frozenset({"heartbeat_minute", "lookup_minute"})


class Hub:
    """`start` in a running loop; consoles `join` and `leave`; `stop` sends them away."""

    def __init__(self, context: HttpContext, threads: Threads) -> None:
        self._context = context
        self._threads = threads
        self._tap = context.feed.tap(limit=_MOST_RECORDS)
        self._tabs: set[Tab] = set()
        self._rows: dict[str, BrokerRow] = {}  # as the consoles have them
        self._seen: dict[str, int] = {}
        self._overview: Overview | None = None
        self._rates = Rates()
        self._snapshot: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._compared_ms = self._overview_ms = self._topics_ms = self._beats_ms = self._forgot_ms = 0
        self._asked_ms = 0
        self._stopped = False
        self._priming: asyncio.Task[None] | None = None
        self.recent = Recent(since_ms=context.now_ms())
        self.seq = context.feed.last_seq or 0  # consoles were told of events up to this number

    @property
    def consoles(self) -> int:
        return len(self._tabs)

    def start(self) -> None:
        self._schedule()

    def stop(self) -> None:
        """Tell every console that the server stops."""
        if self._timer is not None:
            self._timer.cancel()
        if self._priming is not None:
            self._priming.cancel()
        self.take_in()
        self._stopped = True
        for tab in self._tabs:
            tab.push(text_of(Stopping(resume_after=self.seq)), seq=self.seq)
            tab.end(STOPS, "the server stops")

    def join(self, tab: Tab) -> tuple[str, str]:
        """From here on the console gets everything. What it is to be told first: who serves, and how things are."""
        now_ms = self._context.now_ms()
        self.take_in()
        if not self._tabs:
            self._compare(now_ms, everything=True)
            self._overview = self.look(now_ms)
            self._snapshot = None
        self._tabs.add(tab)
        tab.done = self.seq
        if self._stopped:
            tab.end(STOPS, "the server stops")
        else:
            self._schedule()
        return text_of(self._hello(now_ms)), self._snapshot_text(now_ms)

    def leave(self, tab: Tab) -> None:
        self._tabs.discard(tab)

    async def prime(self) -> None:
        """Who left before this start, from history; as soon as that has read all that was journalled before."""
        history = self._context.history
        now_ms = self._context.now_ms()
        if not isinstance(history, History):
            self.recent.primed = True  # there is nobody to ask
            return
        if self.recent.primed or not self._may_ask(now_ms):
            return
        self._asked_ms, since_ms = now_ms, now_ms - LOST_MS
        try:
            groups, last_seq = await self._threads.run(lambda: history.members(since_ms=since_ms))
        except (RoutebookError, Refusal, OSError, sqlite3.Error):
            return  # it is tried again
        if last_seq >= self.seq or last_seq >= (self._context.feed.last_seq or 0):
            self.recent.prime(groups)

    def look(self, now_ms: int) -> Overview:
        """The numbers as they are."""
        self._rates.look(self._context, now_ms)
        rows = broker_rows(self._context.nameserver, self.recent, now_ms)
        return overview(
            self._context,
            rows.values(),
            self._rates,
            misses_per_s=self._misses_per_s(),
            consoles=len(self._tabs),
            now_ms=now_ms,
        )

    # -- one look --------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = None if self._stopped else loop.call_later(_LOOK_S if self._tabs else _IDLE_S, self._tick)

    def _tick(self) -> None:
        try:
            self._round()
        except Exception as error:  # noqa: BLE001  around one round: the next may do better
            get_log("http").unexpected("consoles are not told", error)
        self._schedule()

    def _round(self) -> None:
        now_ms = self._context.now_ms()
        told = self.take_in()
        if now_ms - self._forgot_ms >= _FORGET_MS:
            self._forgot_ms = now_ms
            self.recent.forget(now_ms)
        if not self._tabs:
            self._rates.look(self._context, now_ms)
            return
        if not self.recent.primed and (self._priming is None or self._priming.done()) and self._may_ask(now_ms):
            self._priming = asyncio.get_running_loop().create_task(self.prime())
        if now_ms - self._compared_ms >= (_COMPARE_MS if told else _OVERVIEW_MS):
            self._compare(now_ms, everything=now_ms - self._topics_ms >= _TOPICS_MS)
        if now_ms - self._overview_ms >= (_COMPARE_MS if told else _OVERVIEW_MS):
            self._overview_ms = now_ms
            self._overview = self.look(now_ms)
            self._snapshot = None
            self._push(OverviewNow(overview=self._overview))
        if now_ms - self._beats_ms >= _BEATS_MS:
            self._beats_ms = now_ms
            self._tell_beats(now_ms)

    def _may_ask(self, now_ms: int) -> bool:
        return now_ms - self._asked_ms >= _ASK_AGAIN_MS

    def take_in(self) -> bool:
        """What happened since the last look; whether anything did that the tables show."""
        tap = self._tap
        if not tap:
            return False
        records = [tap.popleft() for _ in range(len(tap))]
        self.recent.add(records)
        if self._tabs:
            self._tell_events(records)
        self.seq = max(self.seq, records[-1].seq)
        return any(record.kind not in MINUTES for record in records)

    def _compare(self, now_ms: int, *, everything: bool) -> None:
        """Tell which rows are otherwise than consoles have them; topic counts only with `everything`."""
        self._compared_ms = now_ms
        known, fresh = self._rows, broker_rows(self._context.nameserver, self.recent, now_ms)
        if everything:
            self._topics_ms = now_ms
        changed = []
        for key, row in fresh.items():
            before = known.get(key)
            if before is None or not row.looks_like(before) or (everything and not row.has_topics_of(before)):
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
        self._push(BrokersChanged(at_ms=now_ms, changed=changed, gone=gone))

    def _tell_beats(self, now_ms: int) -> None:
        moved = {}
        for key, row in broker_rows(self._context.nameserver, self.recent, now_ms).items():
            if key in self._rows and self._seen.get(key) != row.last_seen_ms:
                moved[key] = self._seen[key] = row.last_seen_ms
                self._rows[key] = msgspec.structs.replace(self._rows[key], last_seen_ms=row.last_seen_ms)
        if moved:
            self._snapshot = None
            self._push(BeatsNow(at_ms=now_ms, seen=moved))

    def _tell_events(self, records: list[Record]) -> None:
        selections: dict[Selection | None, list[Tab]] = {}
        for tab in self._tabs:
            if not tab.off:
                selections.setdefault(tab.wanted, []).append(tab)
        seq = records[-1].seq
        for wanted, tabs in selections.items():
            chosen = [shortened(record) for record in wanted_of(records, wanted)]
            if chosen:
                text = text_of(Events(events=chosen))
                for tab in tabs:
                    tab.push(text, seq=seq)

    def _push(self, message: Message) -> None:
        if self._tabs:
            text = text_of(message)
            for tab in self._tabs:
                tab.push(text, seq=self.seq)

    # -- what a console gets first -----------------------------------------------------------------------------------

    def _hello(self, now_ms: int) -> Hello:
        context = self._context
        return Hello(
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
            shown = self._overview or self.look(now_ms)
            self._snapshot = text_of(Snapshot(at_ms=now_ms, overview=shown, brokers=list(self._rows.values())))
        return self._snapshot

    def _misses_per_s(self) -> float:
        lookups = self.recent.lookups
        if not lookups:
            return 0.0
        minute_ms, misses = lookups[-1].minute_ms, 0
        if self._context.now_ms() - minute_ms > 2 * _MINUTE_MS:
            return 0.0
        for row in reversed(lookups):
            if row.minute_ms != minute_ms:
                break
            misses += row.misses
        return round(misses / 60, 2)


def wanted_of(records: Iterable[Record], wanted: Selection | None) -> list[Record]:
    """Those that a console asked for; by default all but what is counted by the minute."""
    if wanted is None:
        return [record for record in records if record.kind not in MINUTES]
    return [record for record in records if wanted.fits(record)]

"""Maps times to sequence numbers, returns the cause of an event, and states how certain an answer is.

The clock of a NameServer may jump back. Records are ordered by sequence number, and a time stands for all records up to
the last one whose running maximum of times (`at_max`) is not later.
"""

import sqlite3
from typing import Final, NamedTuple

from routebook.history.index.schema import Progress, read_progress
from routebook.history.query.answers import Cause, Certainty, Extent, Missing
from routebook.lenient_json import from_blob

_MAX_MISSING: Final = 20  # holes listed in an answer, the newest


class SeqRange(NamedTuple):
    """The sequence numbers of the events that one request caused; they count as one change."""

    first: int
    last: int


class EventTimes:
    """Reads the `marks` table. `now_ms` is the current time of a running server, else None."""

    def __init__(self, db: sqlite3.Connection, *, now_ms: int | None) -> None:
        self._db = db
        self._now_ms = now_ms
        self._runs: dict[int, SeqRange] = {}
        self.progress: Progress = read_progress(db)

    def seq_at(self, at_ms: int) -> int:
        """Return the last event at a time; 0 if the time is before all events."""
        progress = self.progress
        low = self._last_pruned() if not progress.empty and at_ms >= progress.first_at else 0
        high = self.newest()
        # binary search: the running maximum only grows, so it needs no SQL index
        while low < high:
            middle = (low + high + 1) // 2
            row = self._db.execute(
                "SELECT seq, at_max FROM marks WHERE seq >= ? ORDER BY seq LIMIT 1", (middle,)
            ).fetchone()
            if row is not None and row[1] <= at_ms:
                low = int(row[0])
            else:
                high = middle - 1
        return low

    def newest(self) -> int:
        marked = int(self._db.execute("SELECT ifnull(max(seq), 0) FROM marks").fetchone()[0])
        return max(marked, self._last_pruned())

    def _last_pruned(self) -> int:
        """The last pruned sequence number: the state at that point is kept, the event is not."""
        return max(self.progress.first_seq - 1, 0)

    def request_range(self, seq: int) -> SeqRange | None:
        """Return the events of the request that caused an event; None if the event is pruned."""
        row = self._db.execute("SELECT run FROM marks WHERE seq = ?", (seq,)).fetchone()
        if row is None:
            return None
        first = int(row[0])
        if first not in self._runs:
            last = seq
            for number, run in self._db.execute("SELECT seq, run FROM marks WHERE seq > ? ORDER BY seq", (seq,)):
                if run != first:
                    break
                last = number
            self._runs[first] = SeqRange(first, int(last))
        return self._runs[first]

    def cause(self, seq: int) -> Cause:
        """Return the event with a sequence number that has a mark."""
        at, *words = self._db.execute("SELECT at, kind, why, peer, who FROM marks WHERE seq = ?", (seq,)).fetchone()
        kind, why, peer, who = map(self._word, words)
        return Cause(seq=seq, at_ms=at, kind=kind or "", why=why, peer=peer, who=who)

    def time_of(self, seq: int) -> int:
        """Return the running maximum of times at an event: a query for this time includes the event."""
        return self.time_if_kept(seq) or 0

    def time_if_kept(self, seq: int) -> int | None:
        """Like `time_of`; None if the event is pruned."""
        row = self._db.execute("SELECT at_max FROM marks WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else int(row[0])

    def certainty(self, at_ms: int, seq: int) -> Certainty:
        """Return how certain an answer about a time is, given the last event `seq`."""
        progress = self.progress
        if progress.empty:
            return Certainty(known=False, observed=False, events_may_be_missing=False, missing=[], extent=None)
        rows = self._db.execute(
            "SELECT first, last, why FROM holes WHERE first <= ? ORDER BY first DESC LIMIT ?", (seq, _MAX_MISSING)
        )
        missing = [Missing(first_seq=first, last_seq=last, why=why) for first, last, why in rows]
        return Certainty(
            known=at_ms >= progress.first_at,
            observed=self._observed(at_ms),
            events_may_be_missing=progress.headless or bool(missing),
            missing=missing,
            extent=Extent(
                first_seq=progress.first_seq,
                last_seq=progress.last_seq,
                from_ms=progress.first_at,
                to_ms=progress.at_max,
            ),
        )

    def _observed(self, at_ms: int) -> bool:
        row = self._db.execute(
            "SELECT boot, to_ms, stopped FROM boots WHERE from_ms <= ? ORDER BY first_seq DESC LIMIT 1", (at_ms,)
        ).fetchone()
        if row is None:
            return False
        boot, to_ms, stopped = row
        if at_ms <= to_ms:
            return True
        is_running = self._now_ms is not None and boot == self.progress.boot and not stopped
        return is_running and at_ms <= max(self._now_ms or 0, to_ms)

    def _word(self, number: int | None) -> str | None:
        if number is None:
            return None
        return from_blob(self._db.execute("SELECT name FROM words WHERE id = ?", (number,)).fetchone()[0])

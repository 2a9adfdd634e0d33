"""One pass over a lake: read what is new, make the tables anew where it touches them, and publish it all at once.

    journals ──ingest──► bronze ──steps──► silver, gold ──publish──► meta.builds, whose last row readers go by

A pass that is killed leaves snapshots that nobody reads. The next one puts silver and gold back to what was published;
bronze keeps what it got, for it is never more than journals have, and what it got is counted as new again.
"""

import time
from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from routebook.lake.build.coverage import Coverage
from routebook.lake.build.engine import refresh
from routebook.lake.build.holes import Explained, find_holes
from routebook.lake.build.ingest import Counts, Ingest, Left, numbers_of
from routebook.lake.build.journals import Journals
from routebook.lake.build.publish import Build, Builds
from routebook.lake.build.silver.observed import STEP as OBSERVED
from routebook.lake.build.step import Step
from routebook.lake.build.store import Store
from routebook.lake.build.vacuum import expire, tidy
from routebook.lake.build.window import Window, find_windows
from routebook.lake.errors import LakeBusy
from routebook.lake.paths import Place
from routebook.lake.tables.bronze import EVENTS, QUARANTINE
from routebook.lake.tables.kinds import FORMAT_VERSION
from routebook.lake.tables.meta import BUILDS, HOLES

CHECKPOINT: Final = "checkpoint"


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """How far a pass is, for people."""

    name: str  # "reading", "gold.broker_sessions", "publishing"
    done: int = 0
    total: int = 0
    rows: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass did. `build_id` is None where nothing was new."""

    build_id: str | None
    counts: Counts
    holes: int
    missing: int  # numbers that were certainly lost
    tables: int
    seconds: float


class Pipeline:
    """One lake and the journals that it is made of. Kept between passes, it knows what it has read."""

    def __init__(
        self, spark: SparkSession, lake: str, steps: Sequence[Step], tell: Callable[[Stage], None] = lambda _: None
    ) -> None:
        self._store = Store(spark)
        self._place = Place(lake)
        self._builds = Builds(self._store, self._place.text)
        self._steps = steps
        self._tell = tell
        self._ingest: Ingest | None = None
        self._last: Build | None = None

    @property
    def events(self) -> int | None:
        """How many events the lake has; None before it was opened."""
        return None if self._ingest is None else len(self._ingest.coverage)

    def also_tell(self, tell: Callable[[Stage], None]) -> None:
        """Somebody else who wants to know how far it is."""
        before = self._tell

        def both(stage: Stage) -> None:
            before(stage)
            tell(stage)

        self._tell = both

    def build(self, journals: Sequence[str]) -> Outcome:
        """Everything that is new since the last build."""
        began = time.monotonic()
        full = self._open()
        assert self._ingest is not None  # noqa: S101  # it was opened
        try:
            counts = self._ingest.run(Journals(self._store.spark, journals))
            return self._make(what="build", full=full, first_day=None, counts=counts, began=began)
        except BaseException:  # cleanup only: re-raised
            self._ingest = None  # what it knows may not be what bronze has
            raise

    def backfill(self, first_day: date) -> Outcome:
        """All tables again from this day on, from bronze."""
        began = time.monotonic()
        full = self._open()
        return self._make(what="backfill", full=full, first_day=first_day, counts=Counts(), began=began)

    def vacuum(self, *, keep_days: int) -> Outcome:
        """Compact, and let go of what no build of the last days needs."""
        began = time.monotonic()
        self._open()
        last = self._last
        if last is None:
            return self._outcome(None, Counts(), began)
        tables = [EVENTS, QUARANTINE, HOLES, *(step.table for step in self._steps)]
        for number, table in enumerate(tables):
            self._tell(Stage(name=f"compacting {table.path}", done=number, total=len(tables)))
            tidy(self._store, table)
        build = self._publish("vacuum", last.coverage, last.explained, Counts(), began)
        for number, table in enumerate(tables):
            self._tell(Stage(name=f"expiring {table.path}", done=number, total=len(tables)))
            expire(self._store, table, keep_days=keep_days)
        tidy(self._store, BUILDS)
        expire(self._store, BUILDS, keep_days=keep_days)
        self._last = build
        return self._outcome(build, Counts(), began)

    # -- opening ---------------------------------------------------------------------------------------------------

    def _open(self) -> bool:
        """Put everything to what was published; whether all tables must be made from the beginning."""
        self._tell(Stage(name="opening"))
        last = self._builds.open()
        for table in (EVENTS, QUARANTINE, HOLES):
            if not self._store.exists(table):
                self._store.create(table)
            elif not self._store.matches(table):
                self._store.add_columns(table)
        published = last.tables if last is not None else {}
        full = any(not self._put_back(step, published.get(step.table.path)) for step in self._steps)
        if full:
            for step in self._steps:
                self._store.drop(step.table)
                self._store.create(step.table)
        if self._ingest is None or self._last is None or last is None or self._last.number != last.number:
            self._ingest = self._new_ingest(last)
        self._last = last
        return full

    def _put_back(self, step: Step, snapshot: int | None) -> bool:
        """Whether the table is as it was published."""
        table = step.table
        store = self._store
        if snapshot is None or not (store.exists(table) and store.matches(table) and store.is_parted(table)):
            return False
        if self._store.current(table) != snapshot:
            self._store.roll_back(table, snapshot)
        return True

    def _new_ingest(self, last: Build | None) -> Ingest:
        nothing = last is not None and last.bronze_snapshot == self._store.current(EVENTS)
        numbers, count = (Coverage(), 0) if nothing else numbers_of(self._news(last))
        twice = count != len(numbers)
        if twice:  # killed between writing a batch and looking at it
            if last is None:
                self._store.drop(EVENTS)
                self._store.create(EVENTS)
            else:
                self._store.roll_back(EVENTS, last.bronze_snapshot)
            numbers = Coverage()
        coverage = numbers if last is None else last.coverage.with_more(numbers)
        ingest = Ingest(self._store, checkpoint=self._checkpoint(), coverage=coverage, tell=self._tell_left)
        if twice:
            ingest.forget()
        return ingest

    def _checkpoint(self) -> str:
        """Of these very tables, and of the lines that this release reads: another one reads all files again."""
        return self._place.child(f"{CHECKPOINT}/v{FORMAT_VERSION}-{self._store.uuid(EVENTS)}")

    # -- making ----------------------------------------------------------------------------------------------------

    def _make(self, *, what: str, full: bool, first_day: date | None, counts: Counts, began: float) -> Outcome:
        assert self._ingest is not None  # noqa: S101  # it was opened
        snapshot = self._store.current(EVENTS)
        if self._store.count(EVENTS) != len(self._ingest.coverage):
            raise LakeBusy(f"{self._place}: another build wrote events meanwhile; this one loses nothing: run it again")
        set_aside = self._last is None or self._last.tables.get(QUARANTINE.path) != self._store.current(QUARANTINE)
        read = self._last is None or self._last.bronze_snapshot != snapshot
        if not (read or set_aside or full or first_day is not None):
            return self._outcome(None, counts, began)
        bronze = self._store.at(EVENTS, snapshot)
        news = self._news(self._last)
        explained = self._explained(news)
        if full:
            touched = bronze
        elif first_day is not None:
            touched = news.unionByName(bronze.where(F.col("day") >= F.lit(first_day)))
        else:
            touched = news
        windows = self._windows(touched, bronze, full=full)
        if not (windows or set_aside or full):
            return self._outcome(None, counts, began)
        if windows:
            total = len(self._steps)
            refresh(
                self._store,
                self._steps,
                bronze_snapshot=snapshot,
                windows=windows,
                full=full or self._last is None,
                tell=lambda name, done: self._tell(Stage(name=name, done=done, total=total, rows=counts.events)),
            )
        self._tell(Stage(name="publishing"))
        self._write_holes(explained)
        build = self._publish(what, self._ingest.coverage, explained, counts, began)
        self._last = build
        return self._outcome(build, counts, began)

    def _news(self, last: Build | None) -> DataFrame:
        """Bronze rows that no published build has."""
        until = self._store.current(EVENTS)
        if last is None:
            return self._store.at(EVENTS, until)
        return self._store.added(EVENTS, since=last.bronze_snapshot, until=until)

    def _windows(self, touched: DataFrame, bronze: DataFrame, *, full: bool) -> list[Window]:
        table = OBSERVED.table
        observed = self._store.empty(table) if full else self._store.at(table, self._store.current(table))
        return find_windows(touched, observed=observed, events=bronze)

    def _explained(self, news: DataFrame) -> list[Explained]:
        """What journals say about their holes, the last build's and the new rows'."""
        columns = ("ns", "first_missing", "last_missing", "why", "certain")
        rows = news.where(F.col("kind") == "journal_hole").select(*columns).collect()
        found = {Explained(row.ns, row.first_missing, row.last_missing, row.why, row.certain) for row in rows}
        return sorted(found | set(self._last.explained if self._last else ()))

    def _write_holes(self, explained: Sequence[Explained]) -> None:
        assert self._ingest is not None  # noqa: S101  # it was opened
        rows = self._store.rows(HOLES, [one._asdict() for one in find_holes(self._ingest.coverage, explained)])
        self._store.replace(HOLES, rows, stale=None, seen=self._store.current(HOLES))

    def _publish(
        self, what: str, coverage: Coverage, explained: list[Explained], counts: Counts, began: float
    ) -> Build:
        tables = [EVENTS, QUARANTINE, HOLES, *(step.table for step in self._steps)]
        snapshots = {table.path: self._store.current(table) for table in tables}
        return self._builds.publish(
            self._last,
            what=what,
            tables=snapshots,
            bronze_snapshot=snapshots[EVENTS.path],
            coverage=coverage,
            explained=explained,
            counts=counts,
            seconds=time.monotonic() - began,
        )

    # -- telling ---------------------------------------------------------------------------------------------------

    def _tell_left(self, left: Left) -> None:
        self._tell(Stage(name="reading", done=left.segments_done, total=left.segments, rows=left.rows))

    def _outcome(self, build: Build | None, counts: Counts, began: float) -> Outcome:
        coverage = self._ingest.coverage if self._ingest is not None else Coverage()
        holes = find_holes(coverage, self._last.explained if self._last else ())
        return Outcome(
            build_id=None if build is None else build.build_id,
            counts=counts,
            holes=len(holes),
            missing=sum(one.last_missing - one.first_missing + 1 for one in holes if one.certain),
            tables=len(self._steps),
            seconds=time.monotonic() - began,
        )

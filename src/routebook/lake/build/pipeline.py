"""One pass over a lake: ingest what is new, refresh the tables that it affects, publish all of them atomically.

    journals ──ingest──► bronze ──steps──► silver, gold ──publish──► meta.builds: its last row is what readers see

A pass that is killed leaves snapshots that no reader sees. The next pass rolls silver and gold back to the published
snapshots. Bronze keeps the rows that it received; they count as new again.
"""

import time
from collections.abc import Callable, Sequence
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.coverage import Coverage
from routebook.lake.build.bronze.holes import Hole, find_holes
from routebook.lake.build.bronze.ingest import Ingest, Progress, numbers_of
from routebook.lake.build.bronze.journals import Journals
from routebook.lake.build.bronze.quarantine import Quarantine, Quarantined
from routebook.lake.build.incremental import Days
from routebook.lake.build.outcome import Outcome, Stage
from routebook.lake.build.publish import Build, Builds
from routebook.lake.build.refresh import refresh
from routebook.lake.build.retire import Mark
from routebook.lake.build.step import Step
from routebook.lake.build.store import Store
from routebook.lake.build.vacuum import compact, expire
from routebook.lake.build.window import Window, find_windows
from routebook.lake.errors import LakeBusy
from routebook.lake.layout import CHECKPOINT
from routebook.lake.paths import Place
from routebook.lake.spark.small_data import fit
from routebook.lake.tables.bronze import EVENTS, QUARANTINE
from routebook.lake.tables.gold import HEARTBEAT_QUALITY, OUTAGE_IMPACT
from routebook.lake.tables.kinds import FORMAT_VERSION
from routebook.lake.tables.meta import BUILDS, HOLES, RETIRED
from routebook.lake.tables.silver import BROKER_SPANS, OBSERVED, TOPIC_SPANS

_LARGEST = frozenset({BROKER_SPANS, TOPIC_SPANS, HEARTBEAT_QUALITY})


class Pipeline:
    """Builds one lake. Between passes it remembers which segments it has read."""

    def __init__(
        self,
        spark: SparkSession,
        lake: str,
        steps: Sequence[Step],
        on_progress: Callable[[Stage], None] = lambda _: None,
    ) -> None:
        self._store = Store(spark)
        self._place = Place(lake)
        self._builds = Builds(self._store, self._place.text)
        self._steps = steps
        self._listeners = [on_progress]
        self._quarantine = Quarantine(self._store)
        self._ingest: Ingest | None = None
        self._last: Build | None = None
        self._own = ""  # the last build that this pipeline published
        self._quarantine_before: int | None = None  # its snapshot in the last build before this pass

    @property
    def events(self) -> int | None:
        """The number of events in the lake; None before the first pass."""
        return None if self._ingest is None else len(self._ingest.coverage)

    def add_listener(self, on_progress: Callable[[Stage], None]) -> None:
        self._listeners.append(on_progress)

    def build(self, journals: Sequence[str]) -> Outcome:
        """Process everything that is new since the last build."""
        began = time.monotonic()
        full = self._open()
        assert self._ingest is not None  # noqa: S101  # opened
        try:
            counts = self._ingest.run(Journals(self._store.spark, journals))
            return self._refresh(what="build", full=full, days=None, counts=counts, began=began)
        except BaseException:  # cleanup only: re-raised
            self._ingest = None  # its coverage may differ from bronze
            raise

    def backfill(self, first_day: date, last_day: date | None = None) -> Outcome:
        """Recompute all tables for these days from bronze. Rows of other days stay unchanged."""
        began = time.monotonic()
        full = self._open()
        if full or self._has_unpublished_events():  # a killed build left them; all days need them
            outcome = self._refresh(what="build", full=full, days=None, counts=Counts(), began=began)
            if full:
                return outcome
        days = Days(first_day, last_day)
        return self._refresh(what="backfill", full=False, days=days, counts=Counts(), began=began)

    def retire(self, mark: Mark, *, undo: bool = False) -> list[str]:
        """Mark a broker as decommissioned, or remove its marks, and compute the figures since its outages again.

        Returns the NameServers whose outages this changes; none if the broker was not down then, or had no mark.
        """
        began, store = time.monotonic(), self._store
        if self._open():
            self._refresh(what="build", full=True, days=None, counts=Counts(), began=began)
        marks = store.current(RETIRED)
        if undo and store.at(RETIRED, marks).where(mark.names_same()).isEmpty():
            return []
        applies = fn.col("retired") & mark.names_same() if undo else mark.applies_to()
        downs = store.at(OUTAGE_IMPACT, store.current(OUTAGE_IMPACT)).where(applies)
        found = downs.select("ns", fn.to_date("from_at").alias("day")).collect()
        if not found:
            return []
        if undo:
            store.replace(RETIRED, store.empty(RETIRED), stale=mark.names_same(), seen=marks)
        else:
            store.append(RETIRED, store.rows(RETIRED, [mark.row()]))
        days = Days(min(row.day for row in found), None)
        self._refresh(what="retire", full=False, days=days, counts=Counts(), began=began)
        return sorted({row.ns for row in found})

    def vacuum(self, *, keep_days: int) -> Outcome:
        """Compact files, and remove snapshots that no build of the last days uses."""
        began = time.monotonic()
        self._open()
        last = self._last
        if last is None:
            return self._outcome(None, Counts(), began)
        tables = [EVENTS, QUARANTINE, HOLES, RETIRED, *(step.table for step in self._steps)]
        for number, table in enumerate(tables):
            self._report(Stage(name=f"compacting {table.path}", done=number, total=len(tables)))
            compact(self._store, table)
        self._quarantine_before = self._store.current(QUARANTINE)
        build = self._publish("vacuum", last.coverage, last.explained, Counts(), began)
        for number, table in enumerate(tables):
            self._report(Stage(name=f"expiring {table.path}", done=number, total=len(tables)))
            expire(self._store, table, keep_days=keep_days)
        compact(self._store, BUILDS)
        expire(self._store, BUILDS, keep_days=keep_days)
        self._last = build
        return self._outcome(build, Counts(), began)

    # -- opening -----------------------------------------------------------------------------------------------------

    def _open(self) -> bool:
        """Restore the published state. Returns whether all tables must be rebuilt from the first event."""
        self._report(Stage(name="opening"))
        fit(self._store.spark, 0)
        last = self._builds.open()
        is_own = last is not None and last.build_id == self._own
        for table in () if is_own else (EVENTS, QUARANTINE, HOLES, RETIRED):
            if not self._store.exists(table):
                self._store.create(table)
            elif not self._store.has_declared_columns(table):
                self._store.add_columns(table)
        published = last.tables if last is not None else {}
        if RETIRED.path in published and self._store.current(RETIRED) != published[RETIRED.path]:
            self._store.roll_back(RETIRED, published[RETIRED.path])  # `retire` was killed
        full = any(not self._restore(step, published.get(step.table.path), is_own=is_own) for step in self._steps)
        for number, step in enumerate(self._steps if full else ()):
            self._report(Stage(name="creating tables", done=number, total=len(self._steps)))
            self._store.drop(step.table)
            self._store.create(step.table)
        if self._ingest is None or self._last is None or last is None or self._last.number != last.number:
            self._ingest = self._new_ingest(last)
        self._last = last
        self._quarantine_before = published.get(QUARANTINE.path)
        return full

    def _restore(self, step: Step, snapshot: int | None, *, is_own: bool) -> bool:
        """Roll the table back to its published snapshot; False if it must be rebuilt.

        If this pipeline published the last build (`is_own`), the table is as declared.
        """
        table, store = step.table, self._store
        if not is_own and (
            snapshot is None
            or not store.exists(table)
            or not store.has_declared_columns(table)
            or not store.has_declared_partitions(table)
        ):
            return False
        if snapshot is not None and store.current(table) != snapshot:
            store.roll_back(table, snapshot)
        return True

    def _new_ingest(self, last: Build | None) -> Ingest:
        unchanged = last is not None and last.bronze_snapshot == self._store.current(EVENTS)
        numbers, count = (Coverage(), 0) if unchanged else numbers_of(self._unpublished(last))
        has_duplicates = count != len(numbers)
        if has_duplicates:  # killed after a batch was written and before it was checked
            if last is None:
                self._store.drop(EVENTS)
                self._store.create(EVENTS)
            else:
                self._store.roll_back(EVENTS, last.bronze_snapshot)
            numbers = Coverage()
        coverage = numbers if last is None else last.coverage.union(numbers)
        ingest = Ingest(
            self._store,
            self._quarantine,
            checkpoint=self._checkpoint(),
            coverage=coverage,
            on_progress=self._report_reading,
        )
        if has_duplicates:
            ingest.forget()
        return ingest

    def _checkpoint(self) -> str:
        """Belongs to this bronze table and journal format; with another one, all files are read again."""
        return self._place.child(f"{CHECKPOINT}/v{FORMAT_VERSION}-{self._store.uuid(EVENTS)}")

    # -- refreshing --------------------------------------------------------------------------------------------------

    def _refresh(self, *, what: str, full: bool, days: Days | None, counts: Counts, began: float) -> Outcome:
        assert self._ingest is not None  # noqa: S101  # opened
        snapshot = self._store.current(EVENTS)
        if self._store.count(EVENTS) != len(self._ingest.coverage):
            raise LakeBusy(f"{self._place}: another build wrote events at the same time; no data is lost: run it again")
        quarantined = self._last is None or self._last.tables.get(QUARANTINE.path) != self._store.current(QUARANTINE)
        if not (self._has_unpublished_events() or quarantined or full or days is not None):
            return self._outcome(None, counts, began)
        bronze = self._store.at(EVENTS, snapshot)
        unpublished = self._unpublished(self._last)
        explained = self._explained(unpublished)
        touched = bronze if full else unpublished
        if days is not None:
            touched = bronze.where(days.contain(fn.col("day")))
        self._report(Stage(name="finding changes"))
        windows = self._windows(touched, bronze, full=full)
        if not (windows or quarantined or full):
            return self._outcome(None, counts, began)
        if windows:
            fit(self._store.spark, self._rows_to_read(windows))
            total = len(self._steps)
            refresh(
                self._store,
                self._steps,
                bronze_snapshot=snapshot,
                windows=windows,
                full=full or self._last is None,
                days=days,
                on_progress=lambda name, done: self._report(
                    Stage(name=name, done=done, total=total, rows=counts.events)
                ),
            )
        self._report(Stage(name="publishing"))
        self._write_holes(explained)
        build = self._publish(what, self._ingest.coverage, explained, counts, began)
        self._last = build
        return self._outcome(build, counts, began)

    def _rows_to_read(self, windows: list[Window]) -> int:
        """About how many rows the steps read: the events of the windows' days, and a part of the largest tables."""
        built = {step.table for step in self._steps}
        large = max((self._store.count(table) for table in built & _LARGEST), default=0)
        return max(self._store.count_since(EVENTS, min(window.first_day for window in windows)), large // 10)

    def _has_unpublished_events(self) -> bool:
        return self._last is None or self._last.bronze_snapshot != self._store.current(EVENTS)

    def _unpublished(self, last: Build | None) -> DataFrame:
        """Bronze rows that the last build does not include."""
        until = self._store.current(EVENTS)
        if last is None:
            return self._store.at(EVENTS, until)
        return self._store.added(EVENTS, since=last.bronze_snapshot, until=until)

    def _windows(self, touched: DataFrame, bronze: DataFrame, *, full: bool) -> list[Window]:
        built = () if full else [step.table for step in self._steps]
        observed, spans = (
            self._store.at(table, self._store.current(table)) if table in built else self._store.empty(table)
            for table in (OBSERVED, BROKER_SPANS)
        )
        return find_windows(touched, observed=observed, spans=spans, events=bronze)

    def _explained(self, unpublished: DataFrame) -> list[Hole]:
        """The holes that journals explain: those of the last build and those in the new rows."""
        columns = ("ns", "first_missing", "last_missing", "why", "certain")
        rows = unpublished.where(fn.col("kind") == "journal_hole").select(*columns).collect()
        found = {Hole(row.ns, row.first_missing, row.last_missing, row.why, row.certain) for row in rows}
        return sorted(found | set(self._last.explained if self._last else ()))

    def _holes(self, explained: Sequence[Hole]) -> list[Hole]:
        """All holes, with the reasons that journals record and those that the quarantine suggests."""
        assert self._ingest is not None  # noqa: S101  # opened
        coverage = self._ingest.coverage
        return find_holes(coverage, [*explained, *self._quarantine.explanations(coverage)])

    def _write_holes(self, explained: Sequence[Hole]) -> None:
        rows = self._store.rows(HOLES, [one._asdict() for one in self._holes(explained)])
        self._store.replace(HOLES, rows, stale=None, seen=self._store.current(HOLES))

    def _publish(self, what: str, coverage: Coverage, explained: list[Hole], counts: Counts, began: float) -> Build:
        tables = [EVENTS, QUARANTINE, HOLES, RETIRED, *(step.table for step in self._steps)]
        snapshots = {table.path: self._store.current(table) for table in tables}
        build = self._builds.publish(
            self._last,
            what=what,
            tables=snapshots,
            bronze_snapshot=snapshots[EVENTS.path],
            coverage=coverage,
            explained=explained,
            counts=counts,
            seconds=time.monotonic() - began,
        )
        self._own = build.build_id
        return build

    # -- reporting ---------------------------------------------------------------------------------------------------

    def _report(self, stage: Stage) -> None:
        for listener in self._listeners:
            listener(stage)

    def _report_reading(self, progress: Progress) -> None:
        self._report(
            Stage(
                name="reading",
                done=progress.segments_done,
                total=progress.segments,
                unit="segments",
                rows=progress.rows,
                bytes=progress.bytes,
            )
        )

    def _outcome(self, build: Build | None, counts: Counts, began: float) -> Outcome:
        holes = self._holes(self._last.explained if self._last else ())
        snapshot, before = self._store.current(QUARANTINE), self._quarantine_before
        content = self._quarantine.content(snapshot)
        earlier = content if snapshot == before else Quarantined()
        if before not in (None, snapshot):
            earlier = self._quarantine.content(before)
        return Outcome(
            build_id=None if build is None else build.build_id,
            counts=counts,
            quarantine=content,
            new_in_quarantine=content.minus(earlier),
            holes=len(holes),
            missing=sum(one.last_missing - one.first_missing + 1 for one in holes if one.certain),
            tables=len(self._steps),
            seconds=time.monotonic() - began,
        )

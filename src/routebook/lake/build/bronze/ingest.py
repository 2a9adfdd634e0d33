"""Ingests journal segments into bronze, every event once.

A stream over the rolled segments records which files it has processed; open segments are read again in every pass.
Neither has to be exact: rows whose number bronze already has are skipped (`coverage`). A batch repeated after a kill, a
rolled segment that was read while it was open, and a copy under another name add nothing.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.bronze.compared import Compared
from routebook.lake.build.bronze.conflicts import conflicting
from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.coverage import WORD, Coverage, ranges_of
from routebook.lake.build.bronze.journals import Journals, SegmentFile, escaped, normalized, span_of
from routebook.lake.build.bronze.parse import JSON_OPTIONS, ODD, REASON, column_names, events_of, is_long, json_schema
from routebook.lake.build.bronze.quarantine import Quarantine
from routebook.lake.build.bronze.segment_stream import SegmentStream
from routebook.lake.build.store import Store
from routebook.lake.build.window import look_up
from routebook.lake.errors import BrokenLake, JournalUnreadable
from routebook.lake.spark.jvm import JavaError
from routebook.lake.spark.small_data import fit
from routebook.lake.tables.bronze import EVENTS

_ATTEMPTS: Final = 3
_LINE_BYTES: Final = 200
_ROLLED_BYTES: Final = 10  # of a compressed line
_MAX_SEQ: Final = (1 << 63) - 1
_STORE_FAILED: Final = re.compile(r"org\.apache\.hadoop\.fs\.s3a\.\w+Exception|software\.amazon\.awssdk\S+Exception")
_UNREAD_FILE: Final = re.compile(r"(?:while reading file|Path does not exist:) (\S.*?)\.\s+SQLSTATE", re.DOTALL)


class Progress(NamedTuple):
    """Progress of a pass."""

    segments_done: int
    segments: int
    rows: int
    bytes: int  # of the segments done


class Ingest:
    """Adds new segments to the bronze tables of one lake. Between passes it remembers the size of open segments."""

    def __init__(
        self,
        store: Store,
        quarantine: Quarantine,
        *,
        checkpoint: str,
        coverage: Coverage,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._store = store
        self._spark: SparkSession = store.spark
        self._on_progress = on_progress
        self._stream = SegmentStream(store.spark, checkpoint)
        self._quarantine = quarantine
        self._open_segments: dict[str, SegmentFile] = {}
        self._compared = Compared(store.spark)
        self._progress = Progress(0, 0, 0, 0)
        self._processed: set[str] = set()  # in this pass
        self.coverage = coverage
        self.counts = Counts()

    def run(self, journals: Journals) -> Counts:
        """Ingest everything that is new."""
        self.counts = Counts()
        self._processed.clear()
        for attempt in range(_ATTEMPTS):
            segments = journals.segments()
            rolled = {file.path: file for file in segments if file.rolled and file.size}
            new = rolled.keys() - self._stream.seen() if rolled else set()
            repaired = [file for file in self._quarantine.repaired(rolled) if file.path not in new]
            grown = [file for file in segments if not file.rolled and self._open_segments.get(file.path) != file]
            # the stream ignores empty files; an open segment can be empty, a rolled one cannot
            for empty in self._quarantine.unrecorded([file for file in segments if file.rolled and not file.size]):
                self._quarantine.add_damaged(empty, "")
                self.counts.damaged_files += 1
            self._progress = Progress(0, len(new) + len(repaired) + len(grown), 0, 0)
            self._on_progress(self._progress)
            if new:
                self._stream.run(journals, self._batch)
                self._stream.add_seen(self._processed)
                if skipped := new - self._processed:
                    raise BrokenLake(f"the stream skipped {len(skipped)} new segments, such as {min(skipped)}: a bug")
            if repaired:
                self._batch(repaired)
            try:
                if grown:
                    self._batch(grown)
            except _Vanished:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue  # rolled since it was listed: its rolled form exists now
            self._open_segments |= {file.path: file for file in grown}
            break
        return self.counts

    def forget(self) -> None:
        """Read every segment again in the next pass."""
        self._open_segments.clear()
        self._stream.forget()

    def _batch(self, files: Sequence[SegmentFile]) -> None:
        """Read these files; damaged files are read up to the damage."""
        good = [file for file in files if file.size]
        damaged: dict[SegmentFile, str] = {}
        missing = 0
        while good:
            try:
                self._append(good)
                break
            except (PySparkException, JavaError) as error:
                file, why = _unreadable_file(error, good)
                good.remove(file)
                if why:
                    damaged[file] = why
                else:
                    missing += 1
                    self._progress = self._progress._replace(segments=self._progress.segments - 1)
        for file, why in damaged.items():
            self._append([file], damaged=True)
            self._quarantine.add_damaged(file, why)
            self.counts.damaged_files += 1
        done = len(files) - missing
        self._progress = self._progress._replace(
            segments_done=self._progress.segments_done + done,
            rows=self.counts.read,
            bytes=self._progress.bytes + sum(file.size for file in (*good, *damaged)),
        )
        self.counts.segments += done
        self._processed |= {file.path for file in files}
        self._on_progress(self._progress)

    def _append(self, files: Sequence[SegmentFile], *, damaged: bool = False) -> None:
        fit(self._spark, sum(file.size // (_ROLLED_BYTES if file.rolled else _LINE_BYTES) for file in files))
        reader = self._spark.read.schema(json_schema()).options(**JSON_OPTIONS).option("ignoreCorruptFiles", damaged)
        parsed = reader.json([escaped(file.path) for file in files])
        rows = events_of(parsed, source=fn.col("_metadata.file_path"))
        before = self._store.current(EVENTS)
        observation = Observation()
        known = self._is_known()
        is_suspect = ~fn.col(ODD) & known & ~self._compared.contains(files)
        counted = rows.observe(
            observation,
            fn.count(fn.lit(1)).alias("read"),
            fn.count_if(fn.col(ODD)).alias("odd"),
            fn.count_if(~fn.col(ODD) & known).alias("known"),
            fn.min(fn.when(is_suspect, fn.col("seq"))).alias("first"),
            fn.max(fn.when(is_suspect, fn.col("seq"))).alias("last"),
            *self._compared.aggregates(files),
        )
        is_new = ~fn.col(ODD) & ~known
        self._store.append(EVENTS, counted.where(is_new).select(*column_names()))
        seen = observation.get
        added, rows_added = self._added(before)
        suspects = None if seen["first"] is None else (seen["first"], seen["last"])
        if rows_added != len(added):  # the same event twice in one batch: a copy of a segment under another name
            self._store.roll_back(EVENTS, before)
            self._store.append(EVENTS, rows.where(is_new).select(*column_names()).dropDuplicates(["ns", "seq"]))
            added, rows_added = self._added(before)
            suspects = 0, _MAX_SEQ
        elif seen["read"] != seen["odd"] + seen["known"] + rows_added:
            self._store.roll_back(EVENTS, before)
            raise BrokenLake(
                f"{seen['read']} lines were read and {rows_added} written: a segment changed while it was read; "
                "run the build again"
            )
        fine = seen["read"] - seen["odd"]
        self.coverage = self.coverage.union(added)
        conflicts = (
            0 if suspects is None else self._add_conflicts(rows.where(~fn.col(ODD)), files, suspects, damaged=damaged)
        )
        self._compared.update(files, seen)
        self.counts.add(
            Counts(read=fine, events=len(added), conflicts=conflicts, duplicates=fine - len(added) - conflicts)
        )
        if seen["odd"] or _lacks_numbers(files, added):
            self._append_odd(files, damaged=damaged)

    def _add_conflicts(
        self, rows: DataFrame, files: Sequence[SegmentFile], numbers: tuple[int, int], *, damaged: bool
    ) -> int:
        """Quarantine the rows that differ from the event of bronze with the same number."""
        kept = self._store.at(EVENTS, self._store.current(EVENTS)).where(fn.col("seq").between(*numbers))
        with conflicting(rows.where(fn.col("seq").between(*numbers)), kept, "source") as found:
            uris = {row.source for row in found.select("source").distinct().collect()}
        if not uris:
            return 0
        paths = {normalized(unquote(uri)) for uri in uris}
        affected = [file for file in files if normalized(file.path) in paths]
        return self._quarantine.add_conflicts(affected, kept, damaged=damaged)

    def _append_odd(self, files: Sequence[SegmentFile], *, damaged: bool) -> None:
        """Lines that are not events go to quarantine, events of unknown kinds to bronze."""
        with self._quarantine.odd_lines(files, damaged=damaged) as odd:
            unknown = odd.where(fn.col(REASON).isNull()).select(*column_names())
            count = unknown.count()
            if count:
                before = self._store.current(EVENTS)
                self._store.append(EVENTS, unknown.where(~self._is_known()).dropDuplicates(["ns", "seq"]))
                added, _ = self._added(before)
                self.coverage = self.coverage.union(added)
                rest = count - len(added)
                conflicts = self._add_conflicts(unknown, files, (0, _MAX_SEQ), damaged=damaged) if rest else 0
                self.counts.add(Counts(read=count, events=len(added), conflicts=conflicts, duplicates=rest - conflicts))
            self.counts.add(self._quarantine.add(odd.where(~(is_long() & self._is_known())), files))

    def _added(self, before: int) -> tuple[Coverage, int]:
        until = self._store.current(EVENTS)
        return numbers_of(self._store.added(EVENTS, since=before, until=until))

    def _is_known(self) -> Column:
        """Whether bronze already has the number of a row."""
        ranges = self.coverage.ranges()
        if not ranges:
            return fn.lit(False)
        given = {ns: [{"a": a, "b": b} for a, b in found] for ns, found in ranges.items()}
        known = look_up(given, "array<struct<a: bigint, b: bigint>>")
        return fn.coalesce(fn.exists(known, lambda one: fn.col("seq").between(one["a"], one["b"])), fn.lit(False))


def numbers_of(rows: DataFrame) -> tuple[Coverage, int]:
    """The numbers of bronze rows, and the count of rows, which is larger if a number occurs twice."""
    word = fn.floor(fn.col("seq") / WORD).cast("bigint").alias("word")
    bit = fn.expr(f"shiftleft(1L, cast(seq % {WORD} as int))")
    words = rows.groupBy("ns", word).agg(fn.bit_or(bit).alias("bits"), fn.count(fn.lit(1)).alias("rows")).toArrow()
    ranges: dict[str, list[tuple[int, int]]] = {}
    for ns, number, bits in zip(*(words[name].to_pylist() for name in ("ns", "word", "bits")), strict=True):
        ranges.setdefault(ns, []).extend(ranges_of(number, bits))
    return Coverage(ranges), sum(words["rows"].to_pylist())


def _lacks_numbers(files: Sequence[SegmentFile], added: Coverage) -> bool:
    """Whether numbers are missing within a segment: the JSON reader does not report text after an object."""
    holes = [hole for _, hole in added.holes()]
    spans = [span for file in files if (span := span_of(file.name)) is not None]
    return any(first < a and b < last for a, b in holes for first, last in spans)


class _Vanished(JournalUnreadable):
    """An open segment no longer exists."""


def _unreadable_file(error: Exception, files: Sequence[SegmentFile]) -> tuple[SegmentFile, str]:
    """The file that made a job fail, and the reason; empty if the file no longer exists.

    Raises the error if it does not concern one of the files.
    """
    text = str(error)
    found = _UNREAD_FILE.search(text)
    path = normalized(unquote(found[1])) if found else ""
    file = next((one for one in files if normalized(one.path) == path), None)
    if file is None:
        raise error
    if "FILE_NOT_EXIST" in text or "PATH_NOT_FOUND" in text:
        if not file.rolled:
            raise _Vanished(f"{file.path}: no such file") from None
        return file, ""
    if "Permission denied" in text or "AccessControlException" in text:
        raise JournalUnreadable(f"{file.path}: permission denied; grant this user read access") from None
    if _STORE_FAILED.search(text):
        raise JournalUnreadable(f"{file.path}: the object store failed; run the build again when it answers") from None
    causes = re.findall(r"Caused by: (?:[\w$]+\.)*([\w$]+): (.*)", text)
    return file, f"{causes[-1][0]}: {causes[-1][1]}" if causes else "unreadable"

"""Quarantine: records lines that are not valid events, conflicting lines and damaged files with their location."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.bronze import conflicts
from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.coverage import Coverage
from routebook.lake.build.bronze.holes import Hole
from routebook.lake.build.bronze.journals import SegmentFile, ends_with_line_feed, escaped, span_of, uri_of
from routebook.lake.build.bronze.parse import REASON, TEXT, lines_as_events, number_in_text, odd_events_of
from routebook.lake.build.store import Store
from routebook.lake.tables.bronze import QUARANTINE

_MAX_TEXT: Final = 4096  # characters of a line
_LINE_BITS: Final = (1 << 33) - 1
_MAX_EXPLAINED: Final = 1000  # lines that explain a hole


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the quarantine."""

    lines: int = 0  # that are not valid events
    conflicts: int = 0
    damaged_files: int = 0

    def __bool__(self) -> bool:
        return bool(self.lines or self.conflicts or self.damaged_files)

    def minus(self, other: "Quarantined") -> "Quarantined":
        return Quarantined(
            lines=self.lines - other.lines,
            conflicts=self.conflicts - other.conflicts,
            damaged_files=self.damaged_files - other.damaged_files,
        )


class Quarantine:
    """The table `bronze.quarantine` of one lake. Damaged files are recorded as line 0."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._spark = store.spark
        self._damaged: tuple[int, dict[str, set[str]]] | None = None  # as of a snapshot of the table
        self._contents: dict[int, Quarantined] = {}  # by snapshot

    @contextmanager
    def odd_lines(self, files: Sequence[SegmentFile], *, damaged: bool) -> Iterator[DataFrame]:
        """The lines that `parse.odd_events_of` reports, with their file and line number."""
        odd = odd_events_of(self._lines(files, damaged=damaged)).persist()
        try:
            with self._one_task_per_file():
                odd.count()  # evaluates and caches it
            yield odd
        finally:
            odd.unpersist()

    def add(self, odd: DataFrame, files: Sequence[SegmentFile]) -> Counts:
        """Record the odd lines that have a reason, except those recorded before."""
        wrong = odd.where(fn.col(REASON).isNotNull() & ~self._is_unfinished(files))
        read = wrong.agg(
            fn.count(fn.lit(1)).alias("all"), fn.count_if(fn.col(REASON).startswith("format version")).alias("other")
        ).collect()[0]
        count = self._add_lines(wrong, fn.col(REASON))
        return Counts(read=read["all"], quarantined=count, duplicates=read["all"] - count, other_version=read["other"])

    def add_conflicts(self, files: Sequence[SegmentFile], kept: DataFrame, *, damaged: bool) -> int:
        """Record the valid lines of these files that conflict with an event in `kept`, except those recorded before."""
        lines = lines_as_events(self._lines(files, damaged=damaged)).where(fn.col(REASON).isNull())
        reason = fn.concat(
            fn.lit(f"{conflicts.REASON}: the lake has another event with this number, "), fn.col("kept_as")
        )
        with conflicts.conflicting(lines, kept, "file", "line", TEXT) as found:
            with self._one_task_per_file():
                found.count()  # evaluates the lines and caches them
            return self._add_lines(found, reason)

    def _add_lines(self, lines: DataFrame, reason: Column) -> int:
        """Record lines, except those recorded before. Returns the number of new ones."""
        before = self._spark.table(self._store.name(QUARANTINE)).select("file", "line")
        begin = fn.left(TEXT, fn.lit(_MAX_TEXT))
        ns, seq = number_in_text()
        rows = lines.select(
            "file",
            "line",
            reason.alias("reason"),
            fn.make_valid_utf8(begin).alias("text"),
            _now(),
            fn.coalesce("ns", ns).alias("ns"),
            fn.coalesce("seq", seq).alias("seq"),
        )
        new = rows.join(before, ["file", "line"], "left_anti")
        new = new.select("file", "line", "reason", "text", "found_at", "ns", "seq").persist()
        count = new.count()
        if count:
            self._store.append(QUARANTINE, new)
        new.unpersist()
        return count

    def add_damaged(self, file: SegmentFile, why: str) -> None:
        reason = "an empty file" if file.size == 0 else f"damaged file: {why}; lines before the damage were read"
        columns = "file string, line bigint, reason string, text string, ns string, seq bigint"
        rows = self._spark.createDataFrame([(file.path, 0, reason, _version(file), None, None)], columns)
        self._store.append(QUARANTINE, rows.select("*", _now()))

    def content(self, snapshot: int) -> Quarantined:
        """What a snapshot of the table contains. A replaced file that was damaged twice counts once."""
        if snapshot == self._store.current(QUARANTINE) and self._store.count(QUARANTINE) == 0:
            return Quarantined()
        if snapshot not in self._contents:
            is_file, is_conflict = fn.col("line") == 0, fn.col("reason").startswith(conflicts.REASON)
            row = (
                self._store.at(QUARANTINE, snapshot)
                .agg(
                    fn.count_if(~is_file & ~is_conflict).alias("lines"),
                    fn.count_if(is_conflict).alias("conflicts"),
                    fn.count_distinct(fn.when(is_file, fn.col("file"))).alias("damaged_files"),
                )
                .collect()[0]
            )
            self._contents[snapshot] = Quarantined(**row.asDict())
        return self._contents[snapshot]

    def explanations(self, coverage: Coverage) -> list[Hole]:
        """The holes of the coverage that quarantined lines and damaged files explain."""
        holes = list(coverage.holes())
        if not holes or self._store.count(QUARANTINE) == 0:
            return []
        in_hole = fn.lit(False)
        for ns, (first, last) in holes[:_MAX_EXPLAINED]:
            in_hole = in_hole | ((fn.col("ns") == ns) & fn.col("seq").between(first, last))
        rows = self._store.at(QUARANTINE, self._store.current(QUARANTINE)).where((fn.col("line") == 0) | in_hole)
        rows = rows.select("file", "line", "reason", "ns", "seq").orderBy("line").limit(_MAX_EXPLAINED)
        found = []
        for row in rows.collect():
            if row.line:
                where = f"{row.file} line {row.line}"
                found.append(Hole(row.ns, row.seq, row.seq, f"quarantined: {row.reason} ({where})", certain=True))
            elif span := span_of(row.file.rpartition("/")[2]):
                why = f"in no segment that was read; perhaps in {row.file}, which is damaged or empty"
                for ns, (first, last) in holes:
                    if first <= span[1] and span[0] <= last:
                        found.append(Hole(ns, max(first, span[0]), min(last, span[1]), why, certain=True))
        return found

    def repaired(self, files: Mapping[str, SegmentFile]) -> list[SegmentFile]:
        """Files that were damaged when they were read, and have changed since."""
        damaged = self._damaged_files()
        return [files[path] for path, seen in damaged.items() if path in files and _version(files[path]) not in seen]

    def unrecorded(self, files: Sequence[SegmentFile]) -> list[SegmentFile]:
        """Damaged files that are not in the table in this version."""
        return [file for file in files if _version(file) not in self._damaged_files().get(file.path, ())]

    def _damaged_files(self) -> dict[str, set[str]]:
        """The recorded versions of each damaged file."""
        snapshot = self._store.current(QUARANTINE)
        if self._damaged is None or self._damaged[0] != snapshot:
            rows = self._store.at(QUARANTINE, snapshot).where("line = 0").select("file", "text").collect()
            versions: dict[str, set[str]] = {}
            for row in rows:
                versions.setdefault(row.file, set()).add(row.text)
            self._damaged = snapshot, versions
        return self._damaged[1]

    def _lines(self, files: Sequence[SegmentFile], *, damaged: bool) -> DataFrame:
        """Text lines with `file` and `line`. Line numbers are right only within `_one_task_per_file`."""
        reader = self._spark.read.option("lineSep", "\n").option("ignoreCorruptFiles", damaged)
        uris = {uri_of(self._spark, file): file.path for file in files}
        paths = fn.create_map(*[fn.lit(one) for pair in uris.items() for one in pair])
        uri = fn.regexp_replace("_metadata.file_path", "^file:/+", "file:/")
        line = fn.monotonically_increasing_id().bitwiseAND(fn.lit(_LINE_BITS)) + 1
        lines = reader.text([escaped(file.path) for file in files])
        file = fn.coalesce(fn.try_element_at(paths, uri), uri)
        return lines.select(TEXT, file.alias("file"), line.alias("line"), fn.col("_metadata.file_path").alias("source"))

    @contextmanager
    def _one_task_per_file(self) -> Iterator[None]:
        keys = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
        before = {key: str(self._spark.conf.get(key)) for key in keys}
        for key in keys:
            self._spark.conf.set(key, str(1 << 40))
        try:
            yield
        finally:
            for key, value in before.items():
                self._spark.conf.set(key, value)

    def _is_unfinished(self, files: Sequence[SegmentFile]) -> Column:
        """Whether a line is the incomplete last line of an open segment; a later pass reads it."""
        unfinished = fn.lit(False)
        for file in files:
            if not file.rolled and not ends_with_line_feed(self._spark, file):
                with self._one_task_per_file():
                    last = self._lines([file], damaged=False).agg(fn.max("line").alias("last")).collect()[0]["last"]
                unfinished = unfinished | ((fn.col("file") == file.path) & (fn.col("line") >= last))
        return unfinished


def _version(file: SegmentFile) -> str:
    """Stored with a damaged file, to detect that it was replaced."""
    return f"{file.size} bytes, modified {file.modified_ms}"


def _now() -> Column:
    return fn.current_timestamp().alias("found_at")

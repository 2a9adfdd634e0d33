"""Quarantine: finds the lines that are not valid events, and records them, and damaged files, with their location."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.counts import Counts
from routebook.lake.build.journals import SegmentFile, ends_with_line_feed, escaped, normalized
from routebook.lake.build.parse import REASON, TEXT, odd_events_of
from routebook.lake.build.store import Store
from routebook.lake.spark.jvm import hadoop_path
from routebook.lake.tables.bronze import QUARANTINE

_MAX_TEXT: Final = 4096  # characters of a line
_LINE_BITS: Final = (1 << 33) - 1


class Quarantine:
    """The table `bronze.quarantine` of one lake. Damaged files are recorded as line 0."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._spark = store.spark
        self._damaged: tuple[int, dict[str, set[str]]] | None = None  # as of a snapshot of the table

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
        before = self._spark.table(self._store.name(QUARANTINE)).select("file", "line")
        text = fn.make_valid_utf8(fn.left(TEXT, fn.lit(_MAX_TEXT)))
        rows = wrong.select("file", "line", fn.col(REASON).alias("reason"), text.alias("text"), _now())
        read = wrong.agg(
            fn.count(fn.lit(1)).alias("all"), fn.count_if(fn.col(REASON).startswith("format version")).alias("other")
        ).collect()[0]
        new = rows.join(before, ["file", "line"], "left_anti")
        new = new.select("file", "line", "reason", "text", "found_at").persist()
        count = new.count()
        if count:
            self._store.append(QUARANTINE, new)
        new.unpersist()
        return Counts(read=read["all"], quarantined=count, duplicates=read["all"] - count, other_version=read["other"])

    def add_damaged(self, file: SegmentFile, why: str) -> None:
        row = [(file.path, 0, f"damaged file: {why}; lines before the damage were read", _version(file))]
        rows = self._spark.createDataFrame(row, "file string, line bigint, reason string, text string")
        self._store.append(QUARANTINE, rows.select("*", _now()))

    def repaired(self, files: Mapping[str, SegmentFile]) -> list[SegmentFile]:
        """Files that were damaged when they were read, and have changed since."""
        snapshot = self._store.current(QUARANTINE)
        if self._damaged is None or self._damaged[0] != snapshot:
            rows = self._store.at(QUARANTINE, snapshot).where("line = 0").select("file", "text").collect()
            versions: dict[str, set[str]] = {}
            for row in rows:
                versions.setdefault(row.file, set()).add(row.text)
            self._damaged = snapshot, versions
        damaged = self._damaged[1]
        return [files[path] for path, seen in damaged.items() if path in files and _version(files[path]) not in seen]

    def _lines(self, files: Sequence[SegmentFile], *, damaged: bool) -> DataFrame:
        """Text lines with `file` and `line`. Line numbers are right only within `_one_task_per_file`."""
        reader = self._spark.read.option("lineSep", "\n").option("ignoreCorruptFiles", damaged)
        uris = {normalized(str(hadoop_path(self._spark, file.path).toUri().toString())): file.path for file in files}
        paths = fn.create_map(*[fn.lit(one) for pair in uris.items() for one in pair])
        uri = fn.regexp_replace("_metadata.file_path", "^file:/+", "file:/")
        line = fn.monotonically_increasing_id().bitwiseAND(fn.lit(_LINE_BITS)) + 1
        lines = reader.text([escaped(file.path) for file in files])
        return lines.select(TEXT, fn.coalesce(fn.try_element_at(paths, uri), uri).alias("file"), line.alias("line"))

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

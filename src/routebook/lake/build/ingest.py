"""Segments into bronze: every event once, whatever was read before, twice, or half.

A stream over the rolled segments remembers which files it has seen; open segments are read again in every pass. Neither
is trusted to be exact: rows whose number bronze already has are passed over (`coverage`), so a batch that is played
again after a kill, a rolled segment after its open form, and a copy under another name add nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from routebook.lake.build.coverage import WORD, Coverage, ranges_of
from routebook.lake.build.journals import ROLLED, Journals, SegmentFile, ends_with_line_feed, escaped
from routebook.lake.build.parse import (
    JSON_OPTIONS,
    ODD,
    REASON,
    TEXT,
    column_names,
    events_of,
    json_schema,
    odd_events_of,
)
from routebook.lake.build.store import Store
from routebook.lake.errors import BrokenLake, JournalUnreadable
from routebook.lake.spark.jvm import JavaError, file_system, hadoop_path
from routebook.lake.tables.bronze import EVENTS, QUARANTINE

_FEWEST_FILES: Final = 32  # of a batch: bounds what a kill throws away, and how often progress shows
_MOST_TEXT: Final = 4096  # characters of a line that quarantine keeps
_NEVER_TOO_OLD: Final = "36500d"  # Spark would pass over files that are a week older than the newest
_LINE_BITS: Final = (1 << 33) - 1
_TIMES: Final = 3
_FILES: Final = "path string, modificationTime timestamp, length bigint, content binary"
_SPAN: Final = re.compile(r"(\d{20})-(\d{20})-", re.ASCII)
_UNREAD_FILE: Final = re.compile(r"while reading file (\S.*?)\.\s+SQLSTATE", re.DOTALL)


class Counts(msgspec.Struct, kw_only=True):
    """What one pass read: `read == events + duplicates + quarantined`. Files that are damaged are counted apart."""

    read: int = 0
    events: int = 0
    duplicates: int = 0
    quarantined: int = 0
    other_version: int = 0
    damaged_files: int = 0
    segments: int = 0

    def add(self, other: "Counts") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Left(NamedTuple):
    """How far a pass is."""

    segments_done: int
    segments: int
    rows: int


class Ingest:
    """One lake's way in. Kept between passes, it does not read again open segments that have not grown."""

    def __init__(self, store: Store, *, checkpoint: str, coverage: Coverage, tell: Callable[[Left], None]) -> None:
        self._store = store
        self._spark: SparkSession = store.spark
        self._checkpoint = checkpoint
        self._tell = tell
        self._grown: dict[str, SegmentFile] = {}
        self._left = Left(0, 0, 0)
        self._handled: set[str] = set()  # in this pass
        self._streamed: set[str] | None = None  # ever, by the stream
        self._damaged: tuple[int, dict[str, set[str]]] | None = None  # as of a snapshot of quarantine
        self.coverage = coverage
        self.counts = Counts()

    def run(self, journals: Journals) -> Counts:
        """Everything that is new."""
        self.counts = Counts()
        self._handled.clear()
        for attempt in range(_TIMES):
            segments = journals.segments()
            rolled = {file.path: file for file in segments if file.rolled}
            new = rolled.keys() - self._seen(bool(rolled))
            again = self._mended(rolled)
            grown = [file for file in segments if not file.rolled and self._grown.get(file.path) != file]
            self._left = Left(0, len(new) + len(again) + len(grown), 0)
            self._tell(self._left)
            if new:
                self._stream(journals)
                self._streamed = (self._streamed or set()) | self._handled
                if left := new - self._handled:
                    raise BrokenLake(
                        f"the stream passed over {len(left)} new segments, as {min(left)}: this is a defect"
                    )
            if again:
                self._batch(again)
            try:
                if grown:
                    self._batch(grown)
            except _Vanished:
                if attempt == _TIMES - 1:
                    raise
                continue  # rolled under our hands: its rolled form is there now
            self._grown |= {file.path: file for file in grown}
            break
        return self.counts

    def forget(self) -> None:
        """Read every segment again in the next pass: what bronze has is passed over."""
        self._grown.clear()
        self._streamed = None
        path = hadoop_path(self._spark, self._checkpoint)
        file_system(self._spark, path).delete(path, True)

    # -- which files -----------------------------------------------------------------------------------------------

    def _stream(self, journals: Journals) -> None:
        """Rolled segments that the stream has not seen, a batch at a time. It carries names: files are read as batches,
        so that one that cannot be read does not stop the others.
        """
        most = max(_FEWEST_FILES, 8 * self._spark.sparkContext.defaultParallelism)
        failed: list[Exception] = []

        def take(names: DataFrame, _: int) -> None:
            try:
                rows = names.collect()
                self._batch([SegmentFile(row.path, row.length, row.modified_ms) for row in rows])
            except Exception as error:  # re-raised: Spark passes on the text only, so keep the exception
                failed.append(error)
                raise

        for key, pattern in journals.patterns().items():
            source = self._spark.readStream.format("binaryFile").schema(_FILES).option("maxFileAge", _NEVER_TOO_OLD)
            source = source.option("pathGlobFilter", f"*{ROLLED}").option("maxFilesPerTrigger", most)
            names = source.load(pattern).select(
                "path", "length", F.unix_millis("modificationTime").alias("modified_ms")
            )  # not their content, which therefore is not read
            writer = names.writeStream.foreachBatch(take).trigger(availableNow=True)
            query = writer.option("checkpointLocation", self._checkpoint_of(key)).start()
            try:
                query.awaitTermination()
            except PySparkException:
                raise (failed[0] if failed else _plain(query.exception())) from None
            finally:
                query.stop()

    def _checkpoint_of(self, key: str) -> str:
        return f"{self._checkpoint}/{blake2b(key.encode(), digest_size=6).hexdigest() if key else 'local'}"

    def _seen(self, there_are: bool) -> set[str]:
        """What the stream remembers, to tell how much is left; it decides itself what is new."""
        if self._streamed is None and there_are:
            self._streamed = self._remembered()
        return self._streamed or set()

    def _remembered(self) -> set[str]:
        pattern = f"{escaped(self._checkpoint)}/*/sources/0/*"
        try:
            lines = self._spark.read.text(pattern).where(F.col(TEXT).startswith("{"))
            rows = lines.select(F.get_json_object(TEXT, "$.path").alias("path")).distinct().collect()
        except PySparkException:  # nothing was ever read
            return set()
        return {_one_slash(unquote(row.path)) for row in rows}

    def _mended(self, files: Mapping[str, SegmentFile]) -> list[SegmentFile]:
        """Files that could not be read to their end when they were seen, and are others now."""
        snapshot = self._store.current(QUARANTINE)
        if self._damaged is None or self._damaged[0] != snapshot:
            rows = self._store.at(QUARANTINE, snapshot).where("line = 0").select("file", "text").collect()
            found: dict[str, set[str]] = {}
            for row in rows:
                found.setdefault(row.file, set()).add(row.text)
            self._damaged = snapshot, found
        told = self._damaged[1]
        return [files[path] for path, texts in told.items() if path in files and _told(files[path]) not in texts]

    # -- one batch -------------------------------------------------------------------------------------------------

    def _batch(self, files: Sequence[SegmentFile]) -> None:
        """Read these files; those that cannot be read to their end, as far as that goes."""
        good = list(files)
        damaged: dict[SegmentFile, str] = {}
        while good:
            try:
                self._take(good, self._parsed(good))
                break
            except (PySparkException, JavaError) as error:
                file, why = _unread(error, good)
                good.remove(file)
                if why:
                    damaged[file] = why
                else:
                    self._left = self._left._replace(segments=self._left.segments - 1)
        for file, why in damaged.items():
            self._take([file], self._parsed([file], damaged=True), damaged=True)
            self._note_damage(file, why)
        self._left = self._left._replace(
            segments_done=self._left.segments_done + len(good) + len(damaged), rows=self.counts.read
        )
        self.counts.segments += len(good) + len(damaged)
        self._handled |= {file.path for file in files}
        self._tell(self._left)

    def _parsed(self, files: Sequence[SegmentFile], *, damaged: bool = False) -> DataFrame:
        reader = self._spark.read.schema(json_schema()).options(**JSON_OPTIONS)
        return reader.option("ignoreCorruptFiles", damaged).json([escaped(file.path) for file in files])

    def _take(self, files: Sequence[SegmentFile], parsed: DataFrame, *, damaged: bool = False) -> None:
        before = self._store.current(EVENTS)
        told = Observation()
        rows = events_of(parsed)
        known = self._is_known()
        counted = rows.observe(
            told,
            F.count(F.lit(1)).alias("read"),
            F.count_if(F.col(ODD)).alias("odd"),
            F.count_if(~F.col(ODD) & known).alias("known"),
        )
        fresh = counted.where(~F.col(ODD) & ~known).select(*column_names())
        self._store.append(EVENTS, fresh)
        seen = told.get
        added, rows_added = self._added(before)
        if rows_added != len(added):  # the same event twice in one batch: a copy of a segment under another name
            self._store.roll_back(EVENTS, before)
            self._store.append(
                EVENTS, rows.where(~F.col(ODD) & ~known).select(*column_names()).dropDuplicates(["ns", "seq"])
            )
            added, rows_added = self._added(before)
        elif seen["read"] != seen["odd"] + seen["known"] + rows_added:
            self._store.roll_back(EVENTS, before)
            raise BrokenLake(
                f"{seen['read']} lines were read and {rows_added} written: a segment changed meanwhile; run it again"
            )
        fine = seen["read"] - seen["odd"]
        self.coverage = self.coverage.with_more(added)
        self.counts.add(Counts(read=fine, events=len(added), duplicates=fine - len(added)))
        if seen["odd"] or _lacks(files, added):
            self._take_odd(files, damaged=damaged)

    def _added(self, before: int) -> tuple[Coverage, int]:
        until = self._store.current(EVENTS)
        return numbers_of(self._store.added(EVENTS, since=before, until=until))

    def _is_known(self) -> Column:
        """Whether bronze has a row's number already."""
        ranges = self.coverage.ranges()
        if not ranges:
            return F.lit(False)
        text = msgspec.json.encode({ns: [{"a": a, "b": b} for a, b in found] for ns, found in ranges.items()}).decode()
        known = F.from_json(F.lit(text), "map<string, array<struct<a: bigint, b: bigint>>>")
        of_ns = F.try_element_at(known, F.col("ns"))
        return F.coalesce(
            F.exists(of_ns, lambda one: F.col("seq").between(one["a"], one["b"])),
            F.lit(False),
        )

    # -- what is odd -----------------------------------------------------------------------------------------------

    def _take_odd(self, files: Sequence[SegmentFile], *, damaged: bool) -> None:
        """Lines that are no events go to quarantine with their place; events of kinds that are not known, to bronze."""
        odd = odd_events_of(self._lines(files, damaged=damaged)).persist()
        with self._one_task_a_file():
            odd.count()  # decided here, and kept
        try:
            unknown = odd.where(F.col(REASON).isNull()).select(*column_names())
            self._take_unknown(unknown)
            wrong = odd.where(F.col(REASON).isNotNull() & ~self._is_unfinished(files))
            before = self._spark.table(self._store.name(QUARANTINE)).select("file", "line")
            rows = wrong.select("file", "line", F.col(REASON).alias("reason"), _text().alias("text"), _now())
            new = rows.join(before, ["file", "line"], "left_anti").select("file", "line", "reason", "text", "found_at")
            read = wrong.agg(
                F.count(F.lit(1)).alias("all"), F.count_if(F.col(REASON).startswith("format version")).alias("other")
            ).collect()[0]
            fresh = new.persist()
            count = fresh.count()
            if count:
                self._store.append(QUARANTINE, fresh)
            fresh.unpersist()
            self.counts.add(
                Counts(read=read["all"], quarantined=count, duplicates=read["all"] - count, other_version=read["other"])
            )
        finally:
            odd.unpersist()

    def _take_unknown(self, unknown: DataFrame) -> None:
        count = unknown.count()
        if not count:
            return
        before = self._store.current(EVENTS)
        self._store.append(EVENTS, unknown.where(~self._is_known()).dropDuplicates(["ns", "seq"]))
        added, _ = self._added(before)
        self.coverage = self.coverage.with_more(added)
        self.counts.add(Counts(read=count, events=len(added), duplicates=count - len(added)))

    def _lines(self, files: Sequence[SegmentFile], *, damaged: bool) -> DataFrame:
        """Text lines with `file` and `line`; right within `_one_task_a_file`, for a task counts its own lines."""
        reader = self._spark.read.option("lineSep", "\n").option("ignoreCorruptFiles", damaged)
        uris = {_one_slash(str(hadoop_path(self._spark, file.path).toUri().toString())): file.path for file in files}
        paths = F.create_map(*[F.lit(one) for pair in uris.items() for one in pair])
        uri = F.regexp_replace("_metadata.file_path", "^file:/+", "file:/")
        line = F.monotonically_increasing_id().bitwiseAND(F.lit(_LINE_BITS)) + 1
        lines = reader.text([escaped(file.path) for file in files])
        return lines.select(TEXT, F.coalesce(F.try_element_at(paths, uri), uri).alias("file"), line.alias("line"))

    @contextmanager
    def _one_task_a_file(self) -> Iterator[None]:
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
        """Whether a line is the last of a segment that grows and has no end yet: it comes in a later pass."""
        unfinished = F.lit(False)
        for file in files:
            if not file.rolled and not ends_with_line_feed(self._spark, file):
                with self._one_task_a_file():
                    last = self._lines([file], damaged=False).agg(F.max("line").alias("last")).collect()[0]["last"]
                unfinished = unfinished | ((F.col("file") == file.path) & (F.col("line") >= last))
        return unfinished

    def _note_damage(self, file: SegmentFile, why: str) -> None:
        row = [(file.path, 0, f"damaged file: {why}; what came before the damage was read", _told(file))]
        rows = self._spark.createDataFrame(row, "file string, line bigint, reason string, text string")
        self._store.append(QUARANTINE, rows.select("*", _now()))
        self.counts.damaged_files += 1


def numbers_of(rows: DataFrame) -> tuple[Coverage, int]:
    """The numbers of bronze rows, and how many rows there are: more than numbers if one is there twice."""
    word = F.floor(F.col("seq") / WORD).cast("bigint").alias("word")
    bit = F.expr(f"shiftleft(1L, cast(seq % {WORD} as int))")
    words = rows.groupBy("ns", word).agg(F.bit_or(bit).alias("bits"), F.count(F.lit(1)).alias("rows")).toArrow()
    ranges: dict[str, list[tuple[int, int]]] = {}
    for ns, number, bits in zip(*(words[name].to_pylist() for name in ("ns", "word", "bits")), strict=True):
        ranges.setdefault(ns, []).extend(ranges_of(number, bits))
    return Coverage(ranges), sum(words["rows"].to_pylist())


def _lacks(files: Sequence[SegmentFile], added: Coverage) -> bool:
    """Whether numbers are missing in the midst of a segment: the JSON reader does not tell of text after an object."""
    holes = [hole for _, hole in added.holes()]
    spans = [tuple(map(int, found.groups())) for file in files if (found := _SPAN.match(file.name))]
    return any(first < a and b < last for a, b in holes for first, last in spans)


class _Vanished(JournalUnreadable):
    """An open segment that is no longer there."""


def _unread(error: Exception, files: Sequence[SegmentFile]) -> tuple[SegmentFile, str]:
    """Which file stopped a job, and why; no reason where the file is gone. Raises what is not about a file."""
    text = str(error)
    found = _UNREAD_FILE.search(text)
    path = _one_slash(unquote(found[1])) if found else ""
    file = next((one for one in files if _one_slash(one.path) == path), None)
    if file is None:
        raise error
    if "FILE_NOT_EXIST" in text:
        if not file.rolled:
            raise _Vanished(f"{file.path}: is no longer there") from None
        return file, ""
    if "Permission denied" in text or "AccessControlException" in text:
        raise JournalUnreadable(
            f"{file.path}: permission denied; let this user read it. Nothing of it was lost"
        ) from None
    causes = re.findall(r"Caused by: (?:[\w$]+\.)*([\w$]+): (.*)", text)
    return file, f"{causes[-1][0]}: {causes[-1][1]}" if causes else "it cannot be read"


def _plain(error: Any) -> Exception:
    return error if isinstance(error, Exception) else BrokenLake("the stream over the segments failed")


def _one_slash(path: str) -> str:
    """`file:/a` and `file:///a` are one."""
    return re.sub(r"^file:/+", "file:/", path)


def _told(file: SegmentFile) -> str:
    return f"{file.size} bytes, modified {file.modified_ms}"


def _text() -> Column:
    return F.make_valid_utf8(F.left(TEXT, F.lit(_MOST_TEXT)))


def _now() -> Column:
    return F.current_timestamp().alias("found_at")

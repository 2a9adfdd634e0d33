"""Lists the segments of journal folders: of local ones directly, of others through Hadoop, which supports any URI."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from routebook.errors import UsageError
from routebook.lake.errors import JournalUnreadable
from routebook.lake.paths import Place, check_journal, check_segments, journal_denied, journal_is_file, no_such_journal
from routebook.lake.spark.jvm import JavaError, file_system, hadoop_path, java_error

ROLLED: Final = ".jsonl.zst"
OPEN: Final = ".jsonl"
_SPAN: Final = re.compile(r"(\d{20})-(\d{20})-", re.ASCII)
_GLOB: Final = frozenset("\\{}[]*?,")


class SegmentFile(NamedTuple):
    """A segment file."""

    path: str  # in Hadoop's form, with scheme
    size: int
    modified_ms: int

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def rolled(self) -> bool:
        return self.path.endswith(ROLLED)


class Journals:
    """The journal folders of a build."""

    def __init__(self, spark: SparkSession, given: Sequence[str]) -> None:
        if not given:
            raise UsageError("no journal: give at least one folder with --journal")
        self._spark = spark
        self.places = list(dict.fromkeys(Place(one).text for one in given))

    def segments(self) -> list[SegmentFile]:
        """All segments; an open segment only if its rolled form does not exist. Raises JournalUnreadable."""
        found = [file for place in self.places for file in self._segments(place)]
        rolled = {(file.folder, file.name.partition("-")[0]) for file in found if file.rolled}
        return [file for file in found if file.rolled or (file.folder, file.name.removesuffix(OPEN)) not in rolled]

    def patterns(self) -> dict[str, str]:
        """One glob pattern per file system (``, `s3a://bucket`) that matches all its folders.

        A folder whose name contains glob characters has its own pattern: Hadoop ignores escapes within braces.
        """
        by_system: dict[str, list[str]] = {}
        for place in self.places:
            system, path = _split(place)
            alone = f"/{path.strip('/')}" if _GLOB & set(path) else ""
            by_system.setdefault(system + alone, []).append(f"{system}/{path.strip('/')}")
        result = {}
        for key, places in by_system.items():
            system = _split(places[0])[0]
            paths = ",".join(place.removeprefix(f"{system}/") for place in places)
            result[key] = escaped(places[0]) if len(places) == 1 else f"{system}/{{{paths}}}"
        return result

    def _segments(self, place: str) -> list[SegmentFile]:
        folder = Place(place).local
        files = self._listed(place) if folder is None else local_files(folder)
        check_segments(place, [file.name for file in files])
        return [file for file in files if file.name.endswith((ROLLED, OPEN)) and file.name[0] not in "._"]

    def _listed(self, place: str) -> list[SegmentFile]:
        """The files of a folder that is not local: several calls of the JVM for each."""
        path = hadoop_path(self._spark, place)
        try:
            system = file_system(self._spark, path)
            status = system.getFileStatus(path)
            entries = list(system.listStatus(path)) if status.isDirectory() else None
        except JavaError as error:
            raise _unreadable(place, error) from None
        if entries is None:
            raise journal_is_file(place)
        return [
            SegmentFile(str(one.getPath().toString()), int(one.getLen()), int(one.getModificationTime()))
            for one in entries
            if one.isFile()
        ]


def local_files(folder: Path) -> list[SegmentFile]:
    """The files of a folder, with paths in Hadoop's form."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
    except OSError as error:
        check_journal(Place(str(folder)))
        if not isinstance(error, FileNotFoundError):
            raise
        return local_files(folder)  # a segment was removed while the folder was listed
    path = os.path.normpath(folder)
    return [SegmentFile(f"file:{path}/{name}", stat.st_size, stat.st_mtime_ns // 1_000_000) for name, stat in found]


def span_of(name: str) -> tuple[int, int] | None:
    """The first and last number in the name of a rolled segment."""
    found = _SPAN.match(name)
    return None if found is None else (int(found[1]), int(found[2]))


def uri_of(spark: SparkSession, file: SegmentFile) -> str:
    """The URI by which Spark names a file in `_metadata.file_path`, normalized."""
    return normalized(str(hadoop_path(spark, file.path).toUri().toString()))


def escaped(path: str) -> str:
    """The path with glob characters escaped."""
    return "".join(f"\\{letter}" if letter in _GLOB else letter for letter in path)


def normalized(path: str) -> str:
    """The path with `file:///a` written as `file:/a`."""
    return re.sub(r"^file:/+", "file:/", path)


def ends_with_line_feed(spark: SparkSession, file: SegmentFile) -> bool:
    """Whether the last line of a file is complete."""
    path = hadoop_path(spark, file.path)
    system = file_system(spark, path)
    size = int(system.getFileStatus(path).getLen())
    if size == 0:
        return True
    stream = system.open(path)
    try:
        stream.seek(size - 1)
        return bool(stream.read() == ord("\n"))
    finally:
        stream.close()


def _split(place: str) -> tuple[str, str]:
    scheme, mark, rest = place.partition("://")
    if not mark:
        return "", place
    authority, _, path = rest.partition("/")
    return f"{scheme}://{authority}", path


def _unreadable(place: str, error: Exception) -> Exception:
    name, message = java_error(error)
    if name == "FileNotFoundException":
        return no_such_journal(place)
    if name == "AccessControlException" or "Permission denied" in message:
        return journal_denied(place)
    return JournalUnreadable(f"--journal {place}: cannot be listed: {name}: {message}")

"""Which segments there are in the journals that were named: asked of Hadoop, which opens any address."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from routebook.errors import UsageError
from routebook.lake.errors import JournalUnreadable
from routebook.lake.paths import Place
from routebook.lake.spark.jvm import JavaError, file_system, hadoop_path, thrown

ROLLED: Final = ".jsonl.zst"
OPEN: Final = ".jsonl"
_GLOB: Final = frozenset("\\{}[]*?,")


class SegmentFile(NamedTuple):
    """One file."""

    path: str  # as Hadoop spells it, with its scheme
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
            raise UsageError("no journal: name at least one folder with --journal")
        self._spark = spark
        self.places = list(dict.fromkeys(Place(one).text for one in given))

    def segments(self) -> list[SegmentFile]:
        """All segments, a plain one only where its rolled form is not there. Raises JournalUnreadable."""
        found = [file for place in self.places for file in self._segments(place)]
        rolled = {(file.folder, file.name.partition("-")[0]) for file in found if file.rolled}
        return [file for file in found if file.rolled or (file.folder, file.name.removesuffix(OPEN)) not in rolled]

    def patterns(self) -> dict[str, str]:
        """For each file system (``, `s3a://bucket`) one pattern that matches all its folders.

        A folder whose name has letters of patterns has one for itself: within braces Hadoop does not heed escapes.
        """
        by_system: dict[str, list[str]] = {}
        for place in self.places:
            system, path = _parted(place)
            alone = f"/{path.strip('/')}" if _GLOB & set(path) else ""
            by_system.setdefault(system + alone, []).append(f"{system}/{path.strip('/')}")
        result = {}
        for key, places in by_system.items():
            system = _parted(places[0])[0]
            paths = ",".join(place.removeprefix(f"{system}/") for place in places)
            result[key] = escaped(places[0]) if len(places) == 1 else f"{system}/{{{paths}}}"
        return result

    def _segments(self, place: str) -> list[SegmentFile]:
        path = hadoop_path(self._spark, place)
        try:
            system = file_system(self._spark, path)
            status = system.getFileStatus(path)
            entries = list(system.listStatus(path)) if status.isDirectory() else None
        except JavaError as error:
            raise _unreadable(place, error) from None
        if entries is None:
            raise UsageError(f"--journal {place}: a file; name the folder that it is in")
        files = [
            SegmentFile(str(one.getPath().toString()), int(one.getLen()), int(one.getModificationTime()))
            for one in entries
            if one.isFile()
        ]
        segments = [file for file in files if file.name.endswith((ROLLED, OPEN)) and file.name[0] not in "._"]
        if files and not segments and not any(file.name == "reserved.json" for file in files):
            raise UsageError(
                f"--journal {place}: not a journal: none of its {len(files)} files is a segment (*{OPEN}, *{ROLLED})"
            )
        return segments


def escaped(path: str) -> str:
    """A path in which nothing means a pattern."""
    return "".join(f"\\{letter}" if letter in _GLOB else letter for letter in path)


def ends_with_line_feed(spark: SparkSession, file: SegmentFile) -> bool:
    """Whether the last line of a file is finished, as far as it has grown by now."""
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


def _parted(place: str) -> tuple[str, str]:
    scheme, mark, rest = place.partition("://")
    if not mark:
        return "", place
    authority, _, path = rest.partition("/")
    return f"{scheme}://{authority}", path


def _unreadable(place: str, error: Exception) -> Exception:
    name, message = thrown(error)
    if name == "FileNotFoundException":
        return UsageError(f"--journal {place}: no such folder; name a server's journal folder, as HOME/journal")
    if name == "AccessControlException" or "Permission denied" in message:
        return JournalUnreadable(f"--journal {place}: permission denied; let this user read the folder and its files")
    return JournalUnreadable(f"--journal {place}: cannot be listed: {name}: {message}")

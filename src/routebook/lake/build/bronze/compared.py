"""Which lines of open segments were compared with bronze: an open segment is read again whenever it has grown."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.bronze.journals import SegmentFile, uri_of

_MAX_FILES: Final = 32  # with more open segments in one batch, all lines are compared again


class Compared:
    """The greatest number of each open segment that was read. Numbers in a segment increase."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._last: dict[str, int] = {}  # by path

    def contains(self, files: Sequence[SegmentFile]) -> Column:
        """Whether a row was in its segment when that was read before."""
        known = [file for file in _open(files) if file.path in self._last]
        tests = [self._is_of(file) & (fn.col("seq") <= self._last[file.path]) for file in known]
        return reduce(or_, tests, fn.lit(False))

    def aggregates(self, files: Sequence[SegmentFile]) -> list[Column]:
        """What to observe while the files are read."""
        return [
            fn.max(fn.when(self._is_of(file), fn.col("seq"))).alias(f"last_{number}")
            for number, file in enumerate(_open(files))
        ]

    def update(self, files: Sequence[SegmentFile], observed: Mapping[str, Any]) -> None:
        """Remember the observed values."""
        for number, file in enumerate(_open(files)):
            if (last := observed[f"last_{number}"]) is not None:
                self._last[file.path] = last

    def _is_of(self, file: SegmentFile) -> Column:
        return fn.regexp_replace("source", "^file:/+", "file:/") == uri_of(self._spark, file)


def _open(files: Sequence[SegmentFile]) -> list[SegmentFile]:
    found = [file for file in files if not file.rolled]
    return found if len(found) <= _MAX_FILES else []

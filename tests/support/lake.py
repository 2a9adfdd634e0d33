"""Writes journal segments for tests, and builds a lake in the Spark session of the tests."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from pyspark.sql import SparkSession

from routebook.lake.build.outcome import Stage
from routebook.lake.build.pipeline import Pipeline
from routebook.lake.build.silver.observed import STEP as OBSERVED
from routebook.lake.build.step import Step
from routebook.lake.layout import CATALOG

AT_MS = 1_767_225_600_000  # 2026-01-01T00:00Z
FEW: tuple[Step, ...] = (OBSERVED,)


def line(ns: str, seq: int, kind: str = "setting_changed", **fields: Any) -> str:
    """A journal line; its time is `seq` minutes after AT_MS."""
    own = fields or {"key": "k", "before": str(seq - 1), "after": str(seq)}
    envelope = {"v": 1, "ns": ns, "boot": "b1", "seq": seq, "at": AT_MS + seq * 60_000, "kind": kind}
    return msgspec.json.encode(envelope | own).decode()


def numbered(ns: str, numbers: Iterable[int]) -> list[str]:
    """Lines with these numbers."""
    return [line(ns, seq) for seq in numbers]


def text_of(lines: Sequence[str]) -> bytes:
    """The lines with line feeds."""
    return "".join(f"{one}\n" for one in lines).encode()


def write_open(folder: Path, first: int, lines: Sequence[str], *, unfinished: str = "") -> Path:
    """Write an open segment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{first:020}.jsonl"
    path.write_bytes(text_of(lines) + unfinished.encode())
    return path


def write_rolled(folder: Path, first: int, last: int, lines: Sequence[str]) -> Path:
    """Write a rolled segment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{first:020}-{last:020}-{AT_MS + first * 60_000}-{AT_MS + last * 60_000}.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(text_of(lines)))
    return path


class SparkLake:
    """The lake of the tests' Spark session, emptied."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark = spark
        self.home = home
        self.stages: list[Stage] = []
        self.empty()

    def empty(self) -> None:
        """Drop all tables and the checkpoint."""
        spaces = {row[0] for row in self.spark.sql(f"SHOW NAMESPACES IN {CATALOG}").collect()}
        for space in spaces:
            for row in self.spark.sql(f"SHOW TABLES IN {CATALOG}.{space}").collect():
                self.spark.sql(f"DROP TABLE {CATALOG}.{space}.{row.tableName} PURGE")
        shutil.rmtree(self.home / "checkpoint", ignore_errors=True)

    def pipeline(self, steps: Sequence[Step] = FEW) -> Pipeline:
        """A new pipeline, as in a new process."""
        return Pipeline(self.spark, str(self.home), steps, self.stages.append)

    def rows(self, path: str, *columns: str) -> list[tuple[Any, ...]]:
        """All rows of a table, sorted."""
        frame = self.spark.table(f"{CATALOG}.{path}")
        return sorted((tuple(row) for row in frame.select(*(columns or frame.columns)).collect()), key=repr)

    def numbers(self, ns: str) -> list[int]:
        """The sequence numbers of a NameServer in bronze, with duplicates."""
        return sorted(seq for one, seq in self.rows("bronze.events", "ns", "seq") if one == ns)

    def quarantine(self) -> list[tuple[str, int, str]]:
        """Quarantined lines: file name, line number, reason."""
        rows = self.rows("bronze.quarantine", "file", "line", "reason")
        return sorted((file.rpartition("/")[2], line, reason) for file, line, reason in rows)

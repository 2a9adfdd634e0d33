"""The Spark data source `routebook`: reads journals and live NameServers as tables and streams, every record once.

Most tests call the reader directly: Spark starts several processes per query.
"""

import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from routebook.cli import main
from routebook.errors import RoutebookError
from routebook.journal.files import FolderFiles
from routebook.lake.spark.source import JournalStream, SourceOptions, register
from tests.support.process import Process, serving
from tests.support.small_journals import STARTED, Journal, added, down, up

FORMAT_1 = Path(__file__).parents[1] / "unit" / "journal" / "format_1.jsonl"
FIRST_NAME = "00000000000000000001.jsonl"
NUMBERS = StructType([StructField("ns", StringType()), StructField("seq", LongType())])
# PySpark leaves the sockets of `collect` to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path / "home", http="127.0.0.1:0") as process:
        yield process


def rows(schema: StructType = NUMBERS, /, **options: str) -> list[dict[str, Any]]:
    """All rows, read partition by partition as Spark's tasks do."""
    source = SourceOptions(options, schema)
    parts = source.partitions({}, source.newest())
    return [row for part in parts for batch in source.read(part) for row in batch.to_pylist()]


def numbers(**options: str) -> list[int]:
    return sorted(row["seq"] for row in rows(**options))


class Streaming:
    """A stream that is read batch by batch, as Spark does."""

    def __init__(self, **options: str) -> None:
        self._stream = JournalStream(SourceOptions(options, NUMBERS))
        self._at = self._stream.initialOffset()

    def more(self) -> list[int]:
        upto = self._stream.latestOffset()
        parts = self._stream.partitions(self._at, upto)
        self._at = upto
        return [row["seq"] for part in parts for batch in self._stream.read(part) for row in batch.to_pylist()]


def test_open_and_rolled_segments_are_read_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(0, STARTED, up())
    journal.write(1, added("orders"), roll=False)
    (tmp_path / "journal" / FIRST_NAME).write_bytes(b"an interrupted roll: the rolled segment counts")
    assert numbers(path=str(tmp_path / "journal")) == [1, 2, 3]
    assert numbers(path=str(tmp_path)) == [1, 2, 3]
    assert numbers(path=f"file://{tmp_path}") == [1, 2, 3]


def test_a_stream_continues_by_number_not_by_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    folder = tmp_path / "journal"
    journal.write(0, STARTED, up())
    journal.write(1, added("orders"), roll=False)
    streaming = Streaming(path=str(tmp_path))
    assert streaming.more() == [1, 2, 3]
    assert streaming.more() == []
    unfinished = b'{"v":1,"ns":"n","boot":"b1","se'
    with (folder / f"{3:020}.jsonl").open("ab") as file:
        file.write(b'{"v":1,"ns":"n","boot":"b1","seq":4,"at":1731700002000,"kind":"server_stopped","reason":"r"}\n')
        file.write(unfinished)
    assert streaming.more() == [4]
    FolderFiles(folder).truncate(f"{3:020}.jsonl", (folder / f"{3:020}.jsonl").stat().st_size - len(unfinished))
    journal.seq = 4
    journal.write(2, down())
    assert streaming.more() == [5]


def test_a_segment_rolled_between_planning_and_reading(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(0, STARTED, up(), roll=False)
    source = SourceOptions({"path": str(tmp_path)}, NUMBERS)
    (part,) = source.partitions({}, source.newest())
    (tmp_path / "journal" / FIRST_NAME).unlink()
    again = Journal(tmp_path)
    again.write(0, STARTED, up())
    assert [row["seq"] for batch in source.read(part) for row in batch.to_pylist()] == [1, 2]


def test_journals_of_several_nameservers(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "journal").mkdir(parents=True)
        text = FORMAT_1.read_text().replace('"ns":"n"', f'"ns":"{name}"')
        (tmp_path / name / "journal" / FIRST_NAME).write_text(text)
    count = len(FORMAT_1.read_text().splitlines())
    found = rows(path=str(tmp_path))
    assert sum(row["ns"] == "one" for row in found) == sum(row["ns"] == "two" for row in found) == count
    late = Streaming(path=str(tmp_path), startingOffsets="latest")
    assert late.more() == []
    with (tmp_path / "two" / "journal" / FIRST_NAME).open("a") as file:
        file.write(f'{{"v":1,"ns":"two","boot":"b","seq":{count + 1},"at":1,"kind":"of_a_later_release","x":1}}\n')
    assert late.more() == [count + 1]
    raw = StructType([StructField("seq", LongType()), StructField("raw", StringType())])
    assert [row["seq"] for row in rows(raw, path=str(tmp_path)) if row["raw"] is not None] == [count + 1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("not json", "not a journal line"),
        ('{"v":2,"ns":"n","seq":9,"at":1,"kind":"k"}', "format 2"),
        ("{}", "format"),
    ],
)
def test_invalid_lines_fail_or_are_dropped(tmp_path: Path, line: str, says: str) -> None:
    first, second, *_ = FORMAT_1.read_text().splitlines()
    (tmp_path / FIRST_NAME).write_text(f"{first}\n{line}\n{second}\n")
    with pytest.raises(RoutebookError, match=rf"{FIRST_NAME}:2: .*{says}"):
        rows(path=str(tmp_path))
    assert numbers(path=str(tmp_path), mode="dropmalformed") == [1, 2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "either path or server"),
        ({"path": ".", "server": "x"}, "either path or server"),
        ({"path": "/nowhere"}, "no such folder"),
        ({"server": "ftp://x"}, "not a server's address"),
        ({"path": ".", "mode": "GUESS"}, "FAILFAST or DROPMALFORMED"),
        ({"server": "http://127.0.0.1:1"}, "refused"),
    ],
)
def test_invalid_options(options: dict[str, str], says: str) -> None:
    with pytest.raises(RoutebookError, match=says):
        rows(**options)


def test_an_unknown_column(tmp_path: Path) -> None:
    with pytest.raises(RoutebookError, match="no column nope"):
        rows(StructType([StructField("nope", StringType())]), path=str(tmp_path))


def test_columns_are_typed(tmp_path: Path) -> None:
    shutil.copy(FORMAT_1, tmp_path / FIRST_NAME)
    schema = StructType(
        [
            StructField("kind", StringType()),
            StructField("at", TimestampType()),
            StructField("day", DateType()),
            StructField("minute", TimestampType()),
            StructField("gaps_ms", MapType(StringType(), LongType())),
            StructField("topic_count", IntegerType()),
            StructField("topic_names", ArrayType(StringType())),
            StructField("raw", StringType()),
        ]
    )
    found = {row["kind"]: row for row in rows(schema, path=str(tmp_path))}
    assert found["server_started"]["at"] == datetime.fromtimestamp(1731700000.001, UTC)
    assert found["server_started"]["day"] == date(2024, 11, 15)
    assert found["heartbeat_minute"]["minute"] == datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    assert found["heartbeat_minute"]["gaps_ms"] == [("30719", 2)]
    assert found["permission_wiped"]["topic_count"] == 1
    assert found["permission_wiped"]["topic_names"] is None
    assert found["peer_diverged"]["topic_names"] == ["T"]
    assert found["server_stopped"]["raw"] is None


def test_a_live_server_is_streamed_by_number(server: Process) -> None:
    where = server.wait_until_http()
    put = ["kv", "put", "-n", f"{server.host}:{server.port}", "shop"]
    streaming = Streaming(server=where)
    first = streaming.more()
    assert first[0] == 1
    assert main([*put, "open", "no"]) == 0
    assert main([*put, "till", "late"]) == 0
    assert streaming.more() == [first[-1] + 1, first[-1] + 2]
    assert streaming.more() == []
    assert numbers(server=where) == [*first, first[-1] + 1, first[-1] + 2]


@pytest.mark.slow
def test_spark_reads_and_streams(spark: SparkSession, server: Process, tmp_path: Path) -> None:
    register(spark)
    where = server.wait_until_http()
    table = spark.read.format("routebook").load(str(tmp_path / "home" / "journal"))
    (started,) = table.where("kind = 'server_started'").collect()
    assert (started.seq, started.cold, started.day) == (1, False, started.at.date())
    narrow = spark.readStream.format("routebook").schema("ns string, seq bigint").option("server", where)
    first = _run(narrow.load(), tmp_path / "checkpoint")
    assert main(["kv", "put", "-n", f"{server.host}:{server.port}", "shop", "open", "yes"]) == 0
    assert _run(narrow.load(), tmp_path / "checkpoint") == [first[-1] + 1]


def _run(frame: DataFrame, checkpoint: Path) -> list[int]:
    """The numbers of one availableNow run."""
    seen: list[int] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: seen.extend(row.seq for row in batch.collect()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(seen)

"""Case folders: a small journal, and the expected rows of one table.

    tests/lake/cases/<table>/<case>/journal.jsonl     the lines of one or several NameServers
    tests/lake/cases/<table>/<case>/expected.jsonl    the rows, with the columns that the case is about
    tests/lake/cases/<table>/<case>/why.md            the rule that the case demonstrates, in one line
    tests/lake/cases/<table>/<case>/retired.jsonl     optional: marks of `routebook lake retire`

The defaults of `v`, `ns`, `boot` and `seq` are 1, "ns-1", "b1" and the line number. `at`, `minute_ms`, `since_ms` and
`lost_at_ms` can be times such as "2026-01-01T10:00:00" (UTC). Lines that begin with // are comments.

Each case is built twice: in one refresh and in two, so that the second one continues open rows. All cases are built in
one lake, with different NameServers and brokers: a build takes as long for one case as for all.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow has no types
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from routebook.lake.build.schema import schema
from routebook.lake.build.steps import STEPS
from routebook.lake.tables.meta import RETIRED
from tests.support.bronze import from_lines
from tests.support.lake_refresh import needed, refreshed

CASES = Path(__file__).parent / "cases"
WAYS = {"at once": 1, "in two": 2}
_TIMES = ("at", "minute_ms", "since_ms", "lost_at_ms")
_NAMES = ("ns", "broker", "addr", "brokers", "addrs")


def _folders() -> list[Path]:
    return sorted(path.parent for path in CASES.glob("*/*/journal.jsonl"))


def _name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


@pytest.mark.parametrize("folder", _folders(), ids=_name)
@pytest.mark.parametrize("way", ["at once", pytest.param("in two", marks=pytest.mark.slow)])
def test_rows_are_as_expected(folder: Path, way: str, spark: SparkSession) -> None:
    expected = [json.loads(line) for line in _lines(folder / "expected.jsonl")]
    columns = list(dict.fromkeys(column for row in expected for column in row))
    found = [{column: row[column] for column in columns or row} for row in rows_of(folder, way, spark)]
    assert _sorted(found) == _sorted({column: row.get(column) for column in columns} for row in expected)


@pytest.mark.parametrize("folder", _folders(), ids=_name)
def test_every_case_has_a_description(folder: Path) -> None:
    assert (folder / "why.md").read_text().strip()
    assert (folder / "expected.jsonl").exists()


def rows_of(folder: Path, way: str, spark: SparkSession) -> list[dict[str, Any]]:
    """The rows of the case's table that come from the case's journal."""
    mark = _mark(folder)
    rows = _together(way, spark)[folder.parent.name]
    return [
        _unmarked(row, mark) for row in rows if any(_begins(row.get(name), mark) for name in ("ns", "ns_a", "broker"))
    ]


@cache
def _together(way: str, spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    folders = _folders()
    tables = sorted({folder.parent.name for folder in folders})
    parts: list[list[str]] = [[] for _ in range(WAYS[way])]
    for folder in folders:
        lines = list(_journal(folder / "journal.jsonl", _mark(folder)))
        half = -(-len(lines) // len(parts))
        for k, part in enumerate(parts):
            part += lines[k * half : (k + 1) * half]
    marks = _marks(folders, spark)
    made = refreshed(needed(STEPS, *tables), [from_lines(spark, part) for part in parts if part], marks=marks)
    return {table: _plain_rows(made[table]) for table in tables}


def _marks(folders: Iterable[Path], spark: SparkSession) -> DataFrame:
    """The rows of meta.retired of all cases."""
    rows = [
        {"cluster": None, "broker_id": None, "who": None, "why": None}
        | json.loads(line)
        | {"broker": _mark(folder) + json.loads(line)["broker"]}
        for folder in folders
        if (folder / "retired.jsonl").exists()
        for line in _lines(folder / "retired.jsonl")
    ]
    for row in rows:
        row["retired_at"] = datetime.fromisoformat(row["retired_at"]).replace(tzinfo=UTC)
    return spark.createDataFrame(pa.Table.from_pylist(rows, to_arrow_schema(schema(RETIRED))))


def _mark(folder: Path) -> str:
    """The prefix of the names of the case's NameServers and brokers."""
    return f"{_name(folder)}|"


def _begins(value: Any, mark: str) -> bool:
    return isinstance(value, str) and value.startswith(mark)


def _unmarked(value: Any, mark: str) -> Any:
    match value:
        case str():
            return value.replace(mark, "")
        case list():
            return [_unmarked(part, mark) for part in value]
        case dict():
            return {_unmarked(name, mark): _unmarked(part, mark) for name, part in value.items()}
        case _:
            return value


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("//"):
            yield line


def _journal(path: Path, mark: str) -> Iterator[str]:
    for number, line in enumerate(_lines(path), 1):
        event = {"v": 1, "ns": "ns-1", "boot": "b1", "seq": number} | json.loads(line)
        for name in _NAMES:
            if name in event:
                event[name] = (
                    [mark + one for one in event[name]] if isinstance(event[name], list) else mark + event[name]
                )
        for name in _TIMES:
            if isinstance(event.get(name), str):
                event[name] = int(datetime.fromisoformat(event[name]).replace(tzinfo=UTC).timestamp() * 1000)
        yield json.dumps(event)


def _plain_rows(rows: DataFrame) -> list[dict[str, Any]]:
    return [{column: _plain(row[column]) for column in rows.columns} for row in rows.collect()]


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            text = value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
            return text.removesuffix(".000")
        case date():
            return value.isoformat()
        case float():
            return round(value, 6)
        case tuple():
            return {name: _plain(part) for name, part in value.asDict().items()} if hasattr(value, "asDict") else value
        case list():
            return [_plain(part) for part in value]
        case _:
            return value


def _sorted(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))

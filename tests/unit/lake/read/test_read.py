"""Reading a lake without a JVM: only published builds are visible, and SQL is read-only with error positions."""

import threading
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from pyiceberg.types import LongType

from routebook.lake.errors import BrokenLake, NewerLake, NoLake, QueryError, QueryTimeout
from routebook.lake.read.open import open_lake
from routebook.lake.read.reader import Lake
from tests.support.iceberg_lake import IcebergLake

COLUMNS = "ns string, at timestamp, day date, n bigint, names array<string>, counts map<string, bigint>, share double"
NOON = datetime(2026, 1, 2, 12, 0, 0, 250_000, tzinfo=UTC)
ROW = {
    "ns": "a",
    "at": NOON,
    "day": date(2026, 1, 2),
    "n": 7,
    "names": ["x", "y"],
    "counts": [("x", 1)],
    "share": 0.5,
}


@pytest.fixture
def small(tmp_path: Path) -> IcebergLake:
    lake = IcebergLake(tmp_path / "la ke'n")  # needs quoting everywhere
    lake.write("gold.things", [ROW, {**ROW, "ns": "b", "n": 8, "at": NOON + timedelta(hours=1)}], columns=COLUMNS)
    lake.write("silver.empty", [], columns="ns string, from_at timestamp")
    lake.publish(build_id="first", at=NOON, events=2)
    return lake


def test_rows_have_json_compatible_values(small: IcebergLake) -> None:
    answer = Lake.open(small.path).query("SELECT * FROM gold.things ORDER BY ns LIMIT 1")
    assert answer.objects() == [
        {
            "ns": "a",
            "at": "2026-01-02T12:00:00.250Z",
            "day": "2026-01-02",
            "n": 7,
            "names": ["x", "y"],
            "counts": {"x": 1},
            "share": 0.5,
        }
    ]
    assert [column.type for column in answer.columns][:4] == ["VARCHAR", "TIMESTAMP", "DATE", "BIGINT"]
    assert answer.build == "first"
    msgspec.json.encode(answer)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM things",
        "WITH t AS (SELECT * FROM gold.things) SELECT count(*) FROM t",
        "SELECT count(*) FROM silver.empty e FULL JOIN things t ON e.ns = t.ns -- at the end a comment",
        "select count(*) from things where at >= '2026-01-01';",
        "select count(at) from things",
        "select count(t.at) from things t where at::date = '2026-01-02' group by at::date order by at::date",
        "select count(*) from things where (at at time zone 'UTC') > '2026-01-01'",
        "select count(*) from things where 'at' = 'at'",
    ],
)
def test_names_without_schema_and_the_column_at(small: IcebergLake, sql: str) -> None:
    assert Lake.open(small.path).query(sql).rows == [(2,)]


def test_unpublished_snapshots_are_invisible(small: IcebergLake) -> None:
    lake = open_lake(small.path)
    small.write("gold.things", [], columns=COLUMNS)  # an unfinished build
    assert lake.query("SELECT count(*) FROM things").rows == [(2,)]
    small.publish(build_id="second", at=NOON + timedelta(days=1))
    assert lake.query("SELECT count(*) FROM things").rows == [(0,)]
    assert [build.id for build in lake.builds()] == ["first", "second"]


@pytest.mark.parametrize(
    ("as_of", "rows"),
    [("first", 2), ("fir", 2), ("2026-01-02T13:00:00Z", 2), ("2026-01-03T12:00:01", 0), (NOON, 2), ("second", 0)],
)
def test_as_of_a_build_id_or_a_time(small: IcebergLake, as_of: str | datetime, rows: int) -> None:
    small.write("gold.things", [], columns=COLUMNS)
    small.publish(build_id="second", at=NOON + timedelta(days=1))
    assert Lake.open(small.path).query("SELECT count(*) FROM things", as_of=as_of).rows == [(rows,)]


@pytest.mark.parametrize(
    ("as_of", "says"),
    [("2020-01-01", "no build at 2020-01-01T00:00:00Z: the first is of 2026-01-02"), ("then", "neither a")],
)
def test_as_of_an_unknown_build_or_an_early_time(small: IcebergLake, as_of: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        Lake.open(small.path).query("SELECT 1", as_of=as_of)


def test_a_column_is_null_in_files_written_before_it_was_added(small: IcebergLake) -> None:
    with small.catalog.load_table("gold.things").update_schema() as update:
        update.add_column("later", LongType())
    small.catalog.load_table("gold.things").append(
        small.catalog.load_table("gold.things").scan(row_filter="ns = 'a'").to_arrow()
    )
    snapshot = small.catalog.load_table("gold.things").current_snapshot()
    assert snapshot is not None
    small._published["gold.things"] = snapshot.snapshot_id  # what a build would publish
    small.publish(build_id="second", at=NOON + timedelta(days=1))
    assert Lake.open(small.path).query("SELECT count(*), count(later) FROM things").rows == [(3, 0)]


def test_tables_are_listed_with_their_columns(small: IcebergLake) -> None:
    listed = {table.path: table for table in Lake.open(small.path).tables()}
    assert set(listed) == {"gold.things", "silver.empty", "meta.builds"}
    assert listed["gold.things"].rows == 2
    assert listed["gold.things"].columns[1] == ("at", "TIMESTAMP")
    assert listed["silver.empty"].rows == 0


@pytest.mark.parametrize(
    ("sql", "says", "position"),
    [
        ("SELECT nope FROM things", "nope", 8),
        ("SELECT 1 FROM\n things WHERE sel 1", "syntax error", 33),
        ("SELECT at FROM things WHERE sel 1", "syntax error", 33),
        ("SELECT 'ü', nope FROM things", "nope", 13),
        ("SELECT 1 FROM nowhere", "nowhere", 15),
        ("SELECT 1; SELECT 2", "one statement", None),
        ("   ", "no SQL given", None),
        ("CREATE TABLE x (a int)", "read-only", None),
        ("COPY things TO 'x.csv'", "read-only", None),
        ("DROP VIEW gold.things", "read-only", None),
        ("SET memory_limit = '1TB'", "read-only", None),
        ("INSTALL httpfs", "read-only", None),
        ("EXPLAIN ANALYZE SELECT 1", "read-only", None),
        ("SELECT * FROM read_text('/etc/hostname')", "disabled", None),
        ("SELECT * FROM '/etc/hostname'", "hostname", None),
        ("SELECT * FROM sqlite_scan('a', 'b')", "sqlite_scan", None),
    ],
)
def test_invalid_sql_reports_reason_and_position(small: IcebergLake, sql: str, says: str, position: int | None) -> None:
    with pytest.raises(QueryError, match=says) as caught:
        Lake.open(small.path).query(sql)
    if position is not None:
        assert caught.value.position == position
    assert "\n" not in str(caught.value)


def test_the_error_shows_the_position() -> None:
    error = QueryError("no such column", sql="SELECT a,\n  nope FROM x", position=13)
    assert error.shown() == "no such column\nline 2:   nope FROM x\n          ^"


def test_a_query_is_interrupted_at_its_time_limit(small: IcebergLake) -> None:
    began = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"longer than 0\.3 s"):
        Lake.open(small.path).query(
            "SELECT max(a.range * b.range) FROM range(10000000) a, range(10000000) b", timeout_s=0.3
        )
    assert time.monotonic() - began < 120


def test_rows_and_memory_are_bounded(small: IcebergLake) -> None:
    lake = Lake.open(small.path, memory_mb=64)
    answer = lake.query("SELECT range FROM range(100000)", max_rows=10)
    assert len(answer.rows) == 10
    assert answer.truncated
    with pytest.raises(QueryError, match="more memory"):
        lake.query("SELECT string_agg(range || 'xxxxxxxxxxxxxxxxxxxxxxxx') FROM range(20000000)")


def test_concurrent_queries(small: IcebergLake) -> None:
    lake = Lake.open(small.path)
    seen: list[int] = []

    def ask() -> None:
        seen.append(lake.query("SELECT sum(n) FROM things").rows[0][0])

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [15] * 12


def test_a_missing_lake_names_the_build_command(tmp_path: Path) -> None:
    with pytest.raises(NoLake, match="routebook lake build --lake") as caught:
        open_lake(tmp_path / "nothing")
    assert caught.value.command == f"routebook lake build --lake {tmp_path / 'nothing'}"
    assert not (tmp_path / "nothing").exists()


def test_a_lake_without_a_build(tmp_path: Path) -> None:
    IcebergLake(tmp_path / "lake")
    with pytest.raises(NoLake, match="no build has finished yet"):
        open_lake(tmp_path / "lake")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    IcebergLake(tmp_path / "lake", form="2").publish()
    with pytest.raises(NewerLake, match="format 2"):
        open_lake(tmp_path / "lake")


@pytest.mark.parametrize("damage", ["catalog", "metadata", "data"])
def test_a_damaged_lake_is_reported(small: IcebergLake, damage: str) -> None:
    if damage == "catalog":
        (small.path / "catalog.db").write_bytes(b"this is not SQLite" * 100)
    for file in small.path.rglob("*.json" if damage == "metadata" else "*.parquet"):
        if damage != "catalog":
            file.unlink()
    with pytest.raises(BrokenLake):
        open_lake(small.path).query("SELECT * FROM things")

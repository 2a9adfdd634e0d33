"""Builds with Iceberg tables: incremental, interrupted and concurrent builds, backfill and vacuum."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as fn

from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.coverage import Coverage
from routebook.lake.build.pipeline import Pipeline
from routebook.lake.build.publish import Builds
from routebook.lake.build.silver.broker_spans import STEP as BROKER_SPANS
from routebook.lake.build.silver.observed import STEP as OBSERVED
from routebook.lake.build.step import Inputs, Step
from routebook.lake.build.store import Store
from routebook.lake.errors import CommitConflict, LakeBusy, NewerLake
from routebook.lake.layout import CATALOG, FORMAT_PROPERTY
from routebook.lake.lock import LakeLock
from routebook.lake.tables.meta import BUILDS
from routebook.lake.tables.table import Layer, RefreshMode, Table
from tests.support.lake import FEW, SparkLake, line, numbered, write_rolled

DAILY = Table(
    name="daily",
    layer=Layer.GOLD,
    doc="How many settings changed each day",
    key=("ns", "day"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="ns string, day date, changes bigint",
)


def count_daily(inputs: Inputs):  # type: ignore[no-untyped-def]  # a DataFrame, as Step.build says
    return inputs.events("setting_changed").groupBy("ns", "day").count().withColumnRenamed("count", "changes")


STEPS = (*FEW, Step(DAILY, (), count_daily))
DAY = 1440  # numbers: one a minute


def started(ns: str, seq: int) -> str:
    return line(ns, seq, "server_started", version="1", listen="127.0.0.1:9876")


def three_days(folder: Path) -> list[Path]:
    """Segments of two NameServers, three days each."""
    paths = []
    for ns in ("n1", "n2"):
        for first in range(1, 3 * DAY, 700):
            numbers = range(first, min(first + 700, 3 * DAY + 1))
            lines = [started(ns, 1) if seq == 1 else line(ns, seq) for seq in numbers]
            paths.append(write_rolled(folder / ns, numbers[0], numbers[-1], lines))
    return paths


def broker_restarts(seq: int) -> list[str]:
    """A broker goes down and comes up a minute later."""
    broker = {"cluster": "C", "broker": "a", "broker_id": 0, "addr": "a:1"}
    return [
        line("n", seq, "broker_down", reason="closed", **broker),
        line("n", seq + 1, "broker_up", **broker, timeout_ms=1000, acting_master=False),
    ]


def tables(lake: SparkLake) -> dict[str, list[tuple[Any, ...]]]:
    return {path: lake.rows(path) for path in ("silver.observed", "gold.daily", "meta.holes")} | {
        "bronze.events": lake.rows("bronze.events", "ns", "seq", "kind")
    }


def test_incremental_builds_and_a_backfill_give_the_tables_of_a_full_build(
    small_lake: SparkLake, tmp_path: Path
) -> None:
    paths = three_days(tmp_path)
    journals = [str(tmp_path / "n1"), str(tmp_path / "n2")]
    small_lake.pipeline(STEPS).build(journals)
    expected = tables(small_lake)
    assert len(small_lake.rows("gold.daily")) == 8  # numbers begin at 1, so the last minute is on a fourth day

    small_lake.empty()
    hidden = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    for path in (paths[3], paths[0], paths[-1]):  # a late one among them
        path.write_bytes(hidden.pop(path))
    pipeline = small_lake.pipeline(STEPS)
    pipeline.build(journals)
    for path, data in hidden.items():
        path.write_bytes(data)
    pipeline.build(journals)
    assert tables(small_lake) == expected
    small_lake.pipeline(STEPS).backfill(datetime.date(2026, 1, 2))
    assert tables(small_lake) == expected


def test_a_backfill_rebuilds_the_days_from_and_to(small_lake: SparkLake, tmp_path: Path) -> None:
    three_days(tmp_path)
    journals = [str(tmp_path / "n1"), str(tmp_path / "n2")]
    small_lake.pipeline(STEPS).build(journals)
    before = tables(small_lake)

    def count_tenfold(inputs: Inputs):  # type: ignore[no-untyped-def]  # a DataFrame, as Step.build says
        return count_daily(inputs).selectExpr("ns", "day", "changes * 10 AS changes")

    tenfold = (*FEW, Step(DAILY, (), count_tenfold))
    second = datetime.date(2026, 1, 2)
    for _ in range(2):  # idempotent
        assert small_lake.pipeline(tenfold).backfill(second, second).build_id is not None
        assert sorted(small_lake.rows("gold.daily")) == [
            (ns, day, changes * 10 if day == second else changes) for ns, day, changes in sorted(before["gold.daily"])
        ]
    small_lake.pipeline(STEPS).backfill(second, second)
    assert tables(small_lake) == before


@pytest.mark.slow
def test_a_backfill_with_an_end_includes_events_of_a_killed_build(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, DAY, [started("n", 1), *numbered("n", range(2, DAY + 1))])
    small_lake.pipeline(STEPS).build([str(tmp_path)])
    write_rolled(tmp_path, DAY + 1, 2 * DAY, numbered("n", range(DAY + 1, 2 * DAY + 1)))

    def die(inputs: Inputs) -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        small_lake.pipeline((*FEW, Step(DAILY, (), die))).build([str(tmp_path)])  # type: ignore[arg-type]  # it dies
    first = datetime.date(2026, 1, 1)
    small_lake.pipeline(STEPS).backfill(first, first)
    assert sum(changes for _, _, changes in small_lake.rows("gold.daily")) == 2 * DAY - 1


@pytest.mark.slow
def test_intervals_that_begin_after_a_backfill_stay(small_lake: SparkLake, tmp_path: Path) -> None:
    lines = {seq: line("n", seq) for seq in range(1, 2 * DAY + 1)} | {1: started("n", 1)}
    for seq in (100, DAY + 100, 2 * DAY - 100):
        lines |= dict(enumerate(broker_restarts(seq), seq))
    write_rolled(tmp_path, 1, 2 * DAY, list(lines.values()))
    steps = (OBSERVED, BROKER_SPANS)
    small_lake.pipeline(steps).build([str(tmp_path)])
    before = small_lake.rows("silver.broker_spans")

    def renamed(inputs: Inputs):  # type: ignore[no-untyped-def]  # a DataFrame, as Step.build says
        return BROKER_SPANS.build(inputs).selectExpr("* EXCEPT (cluster)", "'D' AS cluster")

    day = datetime.date(2026, 1, 1)
    small_lake.pipeline((OBSERVED, Step(BROKER_SPANS.table, BROKER_SPANS.reads, renamed))).backfill(day, day)
    end = datetime.datetime(2026, 1, 2)
    clusters = small_lake.rows("silver.broker_spans", "from_at", "cluster")
    assert len(clusters) == len(before)
    assert {cluster for from_at, cluster in clusters if from_at < end} == {"D"}
    assert {cluster for from_at, cluster in clusters if from_at >= end} == {"C"}
    small_lake.pipeline(steps).backfill(day, day)
    assert small_lake.rows("silver.broker_spans") == before


@pytest.mark.slow
def test_an_interrupted_build_is_rolled_back_and_repeated(small_lake: SparkLake, tmp_path: Path) -> None:
    paths = three_days(tmp_path)
    journals = [str(tmp_path / "n1"), str(tmp_path / "n2")]
    small_lake.pipeline(STEPS).build(journals)
    expected = tables(small_lake)

    small_lake.empty()
    last = paths.pop()
    held = last.read_bytes()
    last.unlink()
    small_lake.pipeline(STEPS).build(journals)
    published = Builds(Store(small_lake.spark), "").last()
    last.write_bytes(held)

    def die(inputs: Inputs) -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        small_lake.pipeline((*STEPS[:-1], Step(DAILY, (), die))).build(journals)  # type: ignore[arg-type]  # it dies
    assert Builds(Store(small_lake.spark), "").last() == published, "readers still see the previous build"
    small_lake.pipeline(STEPS).build(journals)
    assert tables(small_lake) == expected


@pytest.mark.slow
def test_a_new_column_rebuilds_all_tables(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, 3, numbered("n", range(1, 4)))
    small_lake.pipeline(STEPS).build([str(tmp_path)])
    wider = DAILY._replace(columns=f"{DAILY.columns}, twice bigint")

    def count_twice(inputs: Inputs):  # type: ignore[no-untyped-def]  # a DataFrame, as Step.build says
        return count_daily(inputs).selectExpr("*", "changes * 2 AS twice")

    outcome = small_lake.pipeline((*FEW, Step(wider, (), count_twice))).build([str(tmp_path)])
    assert outcome.build_id is not None
    assert [row[-1] for row in small_lake.rows("gold.daily")] == [6]


@pytest.mark.slow
def test_a_changed_partition_rebuilds_the_table_once(small_lake: SparkLake, tmp_path: Path) -> None:
    three_days(tmp_path)
    journals = [str(tmp_path / "n1")]
    whole = (*FEW, Step(DAILY._replace(partition=None), (), count_daily))
    small_lake.pipeline(whole).build(journals)
    expected = tables(small_lake)
    assert small_lake.pipeline(STEPS).build(journals).build_id is not None
    assert tables(small_lake) == expected
    assert small_lake.pipeline(STEPS).build(journals).build_id is None, "once"


def test_a_lake_with_a_newer_format_is_refused(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, 1, numbered("n", [1]))
    small_lake.pipeline().build([str(tmp_path)])
    name = Store(small_lake.spark).name(BUILDS)
    small_lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FORMAT_PROPERTY}' = '2')")
    with pytest.raises(NewerLake, match="format 2, and this release writes 1"):
        small_lake.pipeline().build([str(tmp_path)])


@pytest.mark.slow
def test_the_second_of_two_concurrent_publications_fails(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, 1, numbered("n", [1]))
    small_lake.pipeline().build([str(tmp_path)])
    builds = Builds(Store(small_lake.spark), "here")
    last = builds.last()
    assert last is not None

    def publish() -> None:
        builds.publish(
            last,
            what="build",
            tables=last.tables,
            bronze_snapshot=last.bronze_snapshot,
            coverage=Coverage(),
            explained=[],
            counts=Counts(),
            seconds=0.0,
        )

    publish()
    with pytest.raises(LakeBusy, match="was published while this build ran"):
        publish()


def test_a_concurrent_commit_is_a_conflict(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, 1, numbered("n", [1]))
    small_lake.pipeline().build([str(tmp_path)])
    store = Store(small_lake.spark)
    rows = store.spark.table(store.name(BUILDS)).selectExpr("* EXCEPT (number)", "2L AS number")
    rows = rows.select(*store.empty(BUILDS).columns)
    seen = store.current(BUILDS)
    store.overwrite(BUILDS, rows, where=fn.col("number") == 2, seen=seen)
    with pytest.raises(CommitConflict, match=r"meta\.builds"):
        store.overwrite(BUILDS, rows, where=fn.col("number") == 2, seen=seen)
    with pytest.raises(PySparkException):
        store.overwrite(BUILDS, rows, where=fn.col("nowhere") == 2, seen=seen)


def test_a_second_build_reports_the_lock_holder(tmp_path: Path) -> None:
    first, second = LakeLock(tmp_path), LakeLock(tmp_path)
    try:
        first.acquire("build")
        with pytest.raises(LakeBusy, match=r"process \d+ on .* has been building it since .* \(lake build\)"):
            second.acquire("vacuum")
        first.release()
        second.acquire("vacuum")
    finally:
        first.close()
        second.close()


@pytest.mark.slow
def test_vacuum_keeps_the_published_build(small_lake: SparkLake, tmp_path: Path) -> None:
    pipeline: Pipeline = small_lake.pipeline(STEPS)
    for first in (1, 21, 41):
        write_rolled(tmp_path, first, first + 19, numbered("n", range(first, first + 20)))
        pipeline.build([str(tmp_path)])
    before = tables(small_lake)
    outcome = pipeline.vacuum(keep_days=0)
    assert outcome.build_id is not None
    assert tables(small_lake) == before
    store = Store(small_lake.spark)
    last = Builds(store, "").last()
    assert last is not None
    for step in STEPS:
        assert store.current(step.table) == last.tables[step.table.path]
        assert store.spark.table(f"{store.name(step.table)}.snapshots").count() == 1
    write_rolled(tmp_path, 61, 70, numbered("n", range(61, 71)))
    assert small_lake.pipeline(STEPS).build([str(tmp_path)]).counts.events == 10
    assert OBSERVED.table.path in last.tables


@pytest.mark.slow
def test_events_of_unknown_kinds_extend_the_observed_time(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, 3, [started("n", 1), line("n", 2), line("n", 3, "comet_seen", tail="long")])
    small_lake.pipeline().build([str(tmp_path)])
    last = max(at for (at,) in small_lake.rows("bronze.events", "at"))
    assert small_lake.rows("silver.observed", "last_seq", "last_t") == [(3, last)]


@pytest.mark.slow
def test_partitions_of_earlier_days_are_not_rewritten(small_lake: SparkLake, tmp_path: Path) -> None:
    def files() -> dict[datetime.date | None, set[str]]:
        found = small_lake.spark.sql(f"SELECT partition.to_at_day, file_path FROM {CATALOG}.silver.broker_spans.files")
        parts: dict[datetime.date | None, set[str]] = {}
        for day, path in found.collect():
            parts.setdefault(day, set()).add(path)
        return parts

    numbers = range(1, 2 * DAY + 1)
    lines = {seq: line("n", seq) for seq in numbers} | {1: started("n", 1)}
    for seq in (100, DAY + 100, 2 * DAY - 100):
        lines |= dict(enumerate(broker_restarts(seq), seq))
    write_rolled(tmp_path, 1, 2 * DAY, list(lines.values()))
    small_lake.pipeline((OBSERVED, BROKER_SPANS)).build([str(tmp_path)])
    before = files()
    assert len(before) == 3, "two days, and what is open"
    write_rolled(tmp_path, 2 * DAY + 1, 2 * DAY + 2, broker_restarts(2 * DAY + 1))
    small_lake.pipeline((OBSERVED, BROKER_SPANS)).build([str(tmp_path)])
    after = files()
    kept = [day for day, paths in before.items() if paths == after.get(day)]
    assert kept == sorted(day for day in before if day is not None)
    assert len(after) == 4

"""A lake built by `routebook lake build` and read without a JVM: all declared tables, all reports, days of any zone."""

from collections.abc import Iterator

import msgspec
import pytest

from routebook.fleet.scenario import load_scenario
from routebook.fleet.virtual.simulation import Simulation
from routebook.lake.read.open import open_lake
from routebook.lake.read.reader import Lake
from routebook.lake.reports import REPORTS, make_report
from routebook.lake.reports.availability import daily, from_spans
from routebook.lake.reports.scope import Scope
from routebook.lake.tables.registry import TABLES
from tests.support.process import Process

pytestmark = pytest.mark.slow
BUILD_S = 600.0
FAST = ("--master", "local[1]", "--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1")
START_MS = 1_767_225_600_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("built")
    scenario = load_scenario("eventful-days").sized(brokers=6, topics=12, clients=3)
    Simulation(scenario, days=1.25, seed=5, nameservers=2, start_ms=START_MS, out=folder / "sim").run()
    journals = [word for number in (1, 2) for word in ("--journal", str(folder / "sim" / f"ns-{number}"))]
    build = Process("lake", "build", *journals, "--lake", str(folder / "lake"), *FAST)
    try:
        assert build.wait(timeout_s=BUILD_S) == 0, build.log
    finally:
        build.kill()
    with open_lake(folder / "lake") as opened:
        yield opened


def test_every_declared_table_exists_with_its_columns(lake: Lake) -> None:
    found = {table.path: [column.name for column in table.columns] for table in lake.tables()}
    for table in TABLES.values():
        assert found[table.path] == [column.name for column in table.declared], table.path


def test_every_table_can_be_queried(lake: Lake) -> None:
    for table in lake.tables():
        assert lake.query(f"SELECT count(*) FROM {table.path}").rows == [(table.rows,)]
        lake.query(f"SELECT * FROM {table.path} LIMIT 5")


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_can_be_made(lake: Lake, name: str) -> None:
    msgspec.json.encode(make_report(lake, name, days=3, zone="Asia/Kolkata"))


def test_days_computed_from_spans_equal_the_daily_table(lake: Lake) -> None:
    """For UTC, the computation for other time zones gives the figures of the daily table."""
    scope = Scope(lake, lake.build(), days=3, zone="UTC", ns=None, cluster=None)
    table, cut = (
        {
            (row["day"], row["broker"], row["broker_id"], row["addr"]): [
                row[part] for part in ("up", "planned_down", "unplanned_down", "protected")
            ]
            for row in rows
        }
        for rows in (daily(scope), from_spans(scope))
    )
    assert table
    assert table.keys() == cut.keys()
    for key, figures in table.items():
        assert cut[key] == pytest.approx(figures, abs=0.001), key

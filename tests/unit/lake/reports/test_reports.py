"""Reports as values, in the terminal and as an HTML page; `lake query` and `lake tables`."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from routebook.cli import main
from routebook.errors import UsageError
from routebook.lake.read.open import open_lake
from routebook.lake.read.reader import Lake
from routebook.lake.reports import REPORTS, all_reports, make_report
from routebook.lake.reports.availability import Availability
from routebook.lake.reports.controller import Controller
from routebook.lake.reports.divergence import Divergence
from routebook.lake.reports.heartbeats import Heartbeats, Tradeoff
from routebook.lake.reports.html.page import page
from routebook.lake.reports.outages import Outages
from routebook.lake.reports.topics import Demand, Placement
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.registry import TABLES
from tests.support.iceberg_lake import IcebergLake
from tests.support.sample_lake import DAYS, GONE, sample_lake


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_lake(tmp_path_factory.mktemp("sample") / "lake").path


@pytest.fixture(scope="module")
def lake(folder: Path) -> Iterator[Lake]:
    with open_lake(folder) as opened:
        yield opened


def command(folder: Path, *args: str) -> int:
    return main(["lake", args[0], "--lake", str(folder), *args[1:]])


def test_availability_per_day_worst_broker_first(lake: Lake) -> None:
    report = make_report(lake, "availability", days=DAYS)
    assert isinstance(report, Availability)
    assert (report.days[0], report.days[-1]) == ("2026-03-02", "2026-03-15")
    shares = [one.availability for one in report.brokers if one.availability is not None]
    assert shares == sorted(shares)
    (gone,) = [one for one in report.brokers if one.broker == GONE[0]]
    cell = gone.cells[report.days.index("2026-03-09")]
    assert cell is not None
    assert cell.seen - cell.up == pytest.approx(90 * 60, abs=1)  # an hour and a half: three NameServers, one outage
    assert cell.seen <= 86_400
    assert cell.outages == 1
    (late,) = [one for one in report.brokers if one.broker == "payments-b-6"]
    assert late.cells[:4] == [None] * 4
    assert {one.cluster: one.brokers for one in report.clusters} == {"orders": 8, "payments": 6}


def test_heartbeats_have_one_row_for_a_broker_that_moved(lake: Lake) -> None:
    report = make_report(lake, "heartbeats", days=DAYS)
    assert isinstance(report, Heartbeats)
    names = [one.broker for one in report.brokers]
    assert len(names) == len(set(names))
    assert "10.9.9.9:10911" not in {one.addr for one in report.brokers}, "the last address"


def test_days_are_in_the_time_zone(lake: Lake) -> None:
    utc, there = (make_report(lake, "availability", days=DAYS, zone=zone) for zone in ("UTC", "Asia/Shanghai"))
    assert isinstance(utc, Availability)
    assert isinstance(there, Availability)
    assert there.from_ == "2026-03-01T16:00:00.000Z"
    gone = {
        name: next(one for one in report.brokers if one.broker == "orders-b-5")
        for name, report in (("utc", utc), ("there", there))
    }
    assert gone["utc"].availability == pytest.approx(gone["there"].availability, rel=1e-6)
    assert gone["utc"].outages == gone["there"].outages
    assert gone["utc"].planned_outages == gone["there"].planned_outages


def test_a_day_has_23_hours_when_clocks_go_forward(lake: Lake) -> None:
    report = make_report(lake, "availability", days=DAYS, zone="America/New_York")
    assert isinstance(report, Availability)
    cell = next(one for one in report.brokers if one.broker == "payments-b-1").cells[report.days.index("2026-03-08")]
    assert cell is not None
    assert cell.seen == pytest.approx(23 * 3600, abs=1)


def test_overlapping_outages_at_several_nameservers_are_one(lake: Lake) -> None:
    report = make_report(lake, "outages", days=DAYS)
    assert isinstance(report, Outages)
    (gone,) = [one for one in report.outages if one.broker == GONE[0] and one.orphaned]
    assert gone.seen_by == ["ns-1", "ns-2", "ns-3"]
    assert gone.nameservers == 3
    assert gone.topics_without_broker == ["invoices", "refunds"]
    assert (gone.duration_s, gone.max_s) == (90 * 60 + 2, 90 * 60 + 125)  # of ns-1; and since ns-3 last saw it
    assert gone.reason == "expired"
    (still,) = [one for one in report.outages if one.to_at is None]
    assert (still.broker, still.duration_s) == ("orders-b-5", None)
    assert report.outages[0] == still


def test_failovers_time_without_master_and_replicas_out_of_sync(lake: Lake) -> None:
    report = make_report(lake, "controller", days=DAYS)
    assert isinstance(report, Controller)
    assert (report.failovers, report.failover_p50_s, report.failover_max_s) == (3, 12.0, 1200.0)
    assert report.unclean == 1
    assert {one.cause: one.elections for one in report.causes} == {"first": 2, "closed": 2, "expired": 2, "broker": 1}
    payments, orders = report.sets
    assert (payments.broker, payments.failovers, payments.without_master_s) == ("payments-b-1", 1, 1200 + 30 * 60)
    assert (payments.without_master, payments.unclean) == (True, 1)
    assert (orders.without_master_s, orders.longest_failover_s, orders.without_master) == (12.4, 12.0, False)
    assert (orders.out_of_sync, orders.out_of_sync_s) == ([2], 2 * 3600)
    assert report.elections[0].outcome == "no_master"
    short = make_report(lake, "controller", days=DAYS, limit=2)
    assert isinstance(short, Controller)
    assert (len(short.elections), short.truncated, len(short.sets)) == (2, True, 2)
    one = make_report(lake, "controller", days=DAYS, cluster="orders")
    assert isinstance(one, Controller)
    assert [found.broker for found in one.sets] == ["orders-b-1"]


def test_overlapping_disagreements_count_once(lake: Lake) -> None:
    report = make_report(lake, "divergence", days=DAYS)
    assert isinstance(report, Divergence)
    pairs = {(one.ns_a, one.ns_b): one for one in report.pairs}
    assert pairs["ns-2", "ns-3"].total_s == 95 * 60
    assert pairs["ns-1", "ns-3"].open == 1


def test_advice_placement_and_demand(lake: Lake) -> None:
    curves = make_report(lake, "tradeoff")
    assert isinstance(curves, Tradeoff)
    assert {one.cluster: one.timeout_ms for one in curves.advice} == {"orders": 90_000, "payments": 180_000}
    placed = make_report(lake, "placement", days=DAYS)
    assert isinstance(placed, Placement)
    assert (placed.totals.topics, placed.totals.single_broker, placed.totals.no_master) == (60, 6, 1)
    assert placed.topics[0].no_master
    assert sum(one.topics for one in placed.skew_histogram) == 60
    wanted = make_report(lake, "demand", days=DAYS, limit=2)
    assert isinstance(wanted, Demand)
    assert [one.topic for one in wanted.topics] == ["topic-00", "topic-01"]
    assert len(wanted.hours) == 24 * DAYS - 15
    assert {(one.language, one.version) for one in wanted.languages} == {("JAVA", "5.5.0"), ("GO", "4.5.2")}


def test_restricted_to_a_nameserver_and_a_cluster(lake: Lake) -> None:
    report = make_report(lake, "availability", days=DAYS, ns="ns-1", cluster="payments")
    assert isinstance(report, Availability)
    assert len(report.brokers) == 6
    assert report.brokers[0].cells[0] is None or report.brokers[0].cells[0].seen == 86_400


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_encodes_as_json(lake: Lake, name: str) -> None:
    report = msgspec.json.decode(msgspec.json.encode(make_report(lake, name, days=3)))
    assert {"report", "build", "from", "to", "zone"} <= report.keys()
    assert report["report"] == name
    assert not any("_" in key for key in report)


@pytest.mark.parametrize("name", REPORTS)
def test_missing_tables_give_empty_reports(tmp_path: Path, name: str) -> None:
    small = IcebergLake(tmp_path / "lake")
    small.publish()
    report = msgspec.to_builtins(make_report(open_lake(small.path), name))
    lists = [value for key, value in report.items() if isinstance(value, list) and key not in {"days", "skewHistogram"}]
    assert not any(lists)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "availabilty"}, "did you mean availability"),
        ({"name": "demand", "zone": "Mars/Olympus"}, "no such zone"),
        ({"name": "demand", "zone": "../etc/passwd"}, "no such zone"),
        ({"name": "demand", "days": 0}, "from 1 to 3660"),
    ],
)
def test_invalid_arguments(lake: Lake, given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_report(lake, **given)


def test_the_page_is_self_contained(lake: Lake) -> None:
    text = page(all_reports(lake, days=DAYS, zone="Europe/Berlin"))
    assert text.count("<svg") == 7
    assert not re.search(r"""(src|href)\s*=|url\(|@import|<script|<link|https?://""", text)
    assert "Content-Security-Policy" in text
    assert "prefers-color-scheme: dark" in text
    assert "&lt;b&gt;no&lt;/b&gt;" in text
    assert "<b>no</b>" not in text
    assert "14 Mar" in text


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    """Any client can register a broker or topic with such a name."""
    hostile = """<script>alert(1)</script>"'><svg onload=alert(2)>&{{ 7 * 7 }}"""
    small = IcebergLake(tmp_path / "lake")
    for path in {"silver.observed"} | {name for name in TABLES if name.startswith("gold.")}:
        small.write(path, [hostile_row(path, hostile)])
    small.publish()
    text = page(all_reports(open_lake(small.path), days=2, zone="UTC"))
    assert text.count("<svg") == text.count('<svg viewBox="') == 7
    assert "<script" not in text
    assert "\"'><svg" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 20
    assert "&amp;{{ 7 * 7 }}" in text


def hostile_row(path: str, hostile: str) -> dict[str, Any]:
    """A row with a hostile value in every text column."""
    values = {
        "string": hostile,
        "timestamp": datetime(2026, 3, 1, 13 if path == "silver.observed" else 12, tzinfo=UTC),
        "date": date(2026, 3, 1),
        "boolean": True,
        "array<string>": [hostile],
    }
    columns = [(name, kind) for name, kind in columns_of(TABLES[path].columns) if kind in values or "<" not in kind]
    special = {"planned": False, "allowed": False, "topic": f"topic {hostile}"}
    return {name: special.get(name, values.get(kind, 1)) for name, kind in columns}


def test_the_page_of_an_empty_lake(tmp_path: Path) -> None:
    small = IcebergLake(tmp_path / "lake")
    small.publish()
    text = page(all_reports(open_lake(small.path), days=7, zone="UTC"))
    assert "No broker was observed in this period." in text
    assert "<svg" not in text


def test_report_in_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(folder, "report", "--days", str(DAYS)) == 0
    out = capsys.readouterr().out
    for words in ("OUTAGES AND THEIR IMPACT", "ongoing", "orders-b-3", "no master", "ns-1 ns-3", "3 min"):
        assert words in out
    assert command(folder, "report", "audit", "--json", "--days", "14") == 0
    assert msgspec.json.decode(capsys.readouterr().out)["audit"]["requests"][0]["allowed"] is False


def test_report_as_html(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(folder, "report", "--html", str(tmp_path / "r.html")) == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    capsys.readouterr()
    assert command(folder, "report", "--html", str(tmp_path / "no" / "r.html")) == 2
    assert "No such file" in capsys.readouterr().err


def test_query_as_json_csv_and_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT broker, orphans, planned FROM outage_impact WHERE len(orphans) > 0 AND ns = 'ns-1'"
    assert command(folder, "query", "--json", sql) == 0
    rows = msgspec.json.decode(capsys.readouterr().out)
    assert rows == [{"broker": "orders-b-3", "orphans": ["invoices", "refunds"], "planned": False}]
    assert command(folder, "query", "--csv", sql) == 0
    (heading, row) = csv.reader(io.StringIO(capsys.readouterr().out))
    assert (heading, row) == (["broker", "orphans", "planned"], ["orders-b-3", '["invoices","refunds"]', "false"])
    assert command(folder, "query", sql) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("orders-b-3")
    assert command(folder, "query", "--json", "SELECT 1 AS a WHERE false") == 0
    assert msgspec.json.decode(capsys.readouterr().out) == []
    assert command(folder, "query", "--json", "SELECT range AS n FROM range(5000)") == 0
    assert len(msgspec.json.decode(capsys.readouterr().out)) == 5000


def test_an_invalid_query(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(folder, "query", "SELECT nope FROM broker_flaps") == 2
    assert capsys.readouterr().err.splitlines()[1:] == ["  SELECT nope FROM broker_flaps", "         ^"]
    assert command(folder, "query", "--json", "--csv", "SELECT 1") == 2
    assert "--json and --csv cannot be combined" in capsys.readouterr().err


def test_tables_and_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(folder, "tables", "--json") == 0
    tables = {table["path"]: table for table in msgspec.json.decode(capsys.readouterr().out)}
    assert tables["gold.topic_placement"]["rows"] == 60
    assert tables["gold.topic_placement"]["columns"][0] == {"name": "day", "type": "DATE", "doc": "Day in UTC."}
    assert command(folder, "tables") == 0
    assert "gold.broker_flaps" in capsys.readouterr().out
    assert command(folder, "tables", "broker_flaps") == 0
    assert re.search(r"^window_start +TIMESTAMP +Time of the first outage\.$", capsys.readouterr().out, re.MULTILINE)
    assert command(folder, "tables", "nothing") == 1


def test_no_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(tmp_path, "query", "SELECT 1") == 1
    assert "routebook lake build" in capsys.readouterr().err

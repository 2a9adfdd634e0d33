"""The fleet's view: an outage that several NameServers saw is one outage, in all reports."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from routebook.lake.errors import OutdatedLake
from routebook.lake.read.open import open_lake
from routebook.lake.reports import make_report
from routebook.lake.reports.availability import Availability
from routebook.lake.reports.outages import Outages
from tests.support.iceberg_lake import IcebergLake

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NAMESERVERS = ("ns-1", "ns-2", "ns-3")
Row = dict[str, Any]


def at(clock: str) -> datetime:
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return DAY + timedelta(hours=hours, minutes=minutes, seconds=seconds)


def outage(ns: str, begin: str, end: str | None, **more: Any) -> Row:
    return {
        "ns": ns,
        "cluster": "C",
        "broker": "a",
        "broker_id": 0,
        "addr": "10.0.0.6:10911",
        "from_at": at(begin),
        "to_at": None if end is None else at(end),
        "ended": None if end is None else "returned",
        "last_seen_at": at(begin),
        "reason": "closed",
        "planned": False,
        "retired": False,
        **more,
    }


def lake_of(path: Path, outages: list[Row], *, stopped: str | None = None) -> Path:
    """Three NameServers that ran for a day and observed the broker a; `stopped` ended at noon, for good."""
    lake = IcebergLake(path / "lake")
    noon, end = at("12:00:00"), at("24:00:00")
    observed = [
        {
            "ns": ns,
            "from_at": DAY,
            "to_at": noon if ns == stopped else None,
            "seen_until": noon if ns == stopped else end,
        }
        for ns in NAMESERVERS
    ]
    spans = [
        {"ns": ns, "cluster": "C", "broker": "a", "broker_id": 0, "state": "up", "from_at": DAY} for ns in NAMESERVERS
    ]
    daily = [_day(ns, [row for row in outages if row["ns"] == ns]) for ns in NAMESERVERS]
    lake.write("silver.observed", observed)
    lake.write("silver.broker_spans", spans)
    lake.write("gold.broker_availability_daily", daily)
    lake.write("gold.outage_impact", outages)
    lake.publish()
    return lake.path


def _day(ns: str, outages: list[Row]) -> Row:
    down = sum((row["to_at"] - row["from_at"]).total_seconds() for row in outages if row["to_at"])
    parts = {"up_s": 86_400.0 - down, "unplanned_down_s": down, "planned_down_s": 0.0, "protected_s": 0.0}
    broker = {"ns": ns, "cluster": "C", "broker": "a", "broker_id": 0, "addr": "10.0.0.66:10911"}
    return {"day": DAY.date(), "observed_s": 86_400.0, **broker, **parts}


def reports(path: Path) -> tuple[Availability, Outages]:
    with open_lake(path) as lake:
        available, outages = (make_report(lake, name, days=1) for name in ("availability", "outages"))
    assert isinstance(available, Availability)
    assert isinstance(outages, Outages)
    return available, outages


def test_one_outage_seen_by_three_nameservers(tmp_path: Path) -> None:
    rows = [outage(ns, f"10:00:0{number}", "10:01:00") for number, ns in enumerate(NAMESERVERS)]
    available, outages = reports(lake_of(tmp_path, rows))
    (one,) = outages.outages
    assert (one.duration_s, one.seen_by, one.nameservers) == (60, list(NAMESERVERS), 3)
    (broker,) = available.brokers
    assert broker.outages == 1
    assert broker.mtbf_s is not None
    assert 86_300 < broker.mtbf_s < 86_400  # of one day, not of three
    assert broker.mttr_s == 60
    assert available.clusters[0].outages == 1


def test_an_outage_at_one_nameserver_and_another_one_elsewhere(tmp_path: Path) -> None:
    rows = [outage("ns-1", "10:00:00", "10:01:00"), outage("ns-2", "11:00:00", "11:02:00")]
    available, outages = reports(lake_of(tmp_path, rows))
    assert [(one.seen_by, one.nameservers) for one in outages.outages] == [(["ns-2"], 3), (["ns-1"], 3)]
    assert available.brokers[0].outages == 2
    assert available.brokers[0].availability == pytest.approx(1 - (60 + 120) / 3 / 86_400)


def test_an_outage_under_two_addresses_is_one(tmp_path: Path) -> None:
    """ns-2 knew the broker under its new address already."""
    rows = [
        outage("ns-1", "10:00:00", "10:01:00", returned_addr="10.0.0.66:10911"),
        outage("ns-2", "10:00:30", "10:01:10", addr="10.0.0.66:10911", returned_addr="10.0.0.66:10911"),
    ]
    (one,) = reports(lake_of(tmp_path, rows))[1].outages
    assert (one.duration_s, one.addr, one.returned_addr) == (70, "10.0.0.6:10911", "10.0.0.66:10911")


def test_two_brokers_of_a_group_are_two_outages(tmp_path: Path) -> None:
    rows = [outage("ns-1", "10:00:00", "10:01:00"), outage("ns-1", "10:00:10", "10:01:00", broker_id=1, addr="b:1")]
    assert len(reports(lake_of(tmp_path, rows))[1].outages) == 2


def test_a_nameserver_that_was_shut_down_does_not_keep_an_outage_open(tmp_path: Path) -> None:
    rows = [outage("ns-1", "11:59:00", "12:30:00"), outage("ns-3", "11:59:00", None)]
    (one,) = reports(lake_of(tmp_path, rows, stopped="ns-3"))[1].outages
    assert one.to_at == "2026-03-01T12:30:00.000Z"


def test_planned_and_retired_outages_are_not_counted(tmp_path: Path) -> None:
    rows = [
        outage("ns-1", "10:00:00", "10:30:00", planned=True, reason="unregistered"),
        outage("ns-1", "12:00:00", None, retired=True),
    ]
    available, outages = reports(lake_of(tmp_path, rows))
    assert [one.state() for one in outages.outages] == ["retired", ""]
    assert (available.brokers[0].outages, available.brokers[0].planned_outages) == (0, 1)


def test_the_bounds_of_a_silent_outage(tmp_path: Path) -> None:
    rows = [outage("ns-1", "10:02:05", "10:10:00", reason="expired", last_seen_at=at("10:00:00"))]
    (one,) = reports(lake_of(tmp_path, rows))[1].outages
    assert (one.duration_s, one.max_s) == (475, 600)


def test_a_lake_of_an_earlier_release(tmp_path: Path) -> None:
    lake = IcebergLake(tmp_path / "lake")
    old = "ns string, cluster string, broker string, addr string, from_at timestamp, to_at timestamp"
    lake.write("gold.outage_impact", [], columns=old)
    lake.publish()
    with open_lake(lake.path) as opened, pytest.raises(OutdatedLake, match="run `routebook lake build`"):
        make_report(opened, "outages")

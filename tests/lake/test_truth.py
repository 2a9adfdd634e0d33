"""The lake finds exactly the injected faults: all shipped scenarios, with two seeds each.

A check compares the tables of all fleets with the ground truth of one fleet and returns a Score. To add one, write it
and add it to CHECKS with the tables that it reads.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from routebook.fleet.scenario import shipped_names
from routebook.fleet.virtual.truth import Expected
from routebook.lake.build.steps import STEPS
from tests.support.lake_truth import Score, Simulated, built, is_settling, match, ms, of_fleet, simulate

SEEDS = (1, 2)
DAYS = {"eventful-days": 1.0}  # the others last from 03:00 for at most an hour
_SOME_DAYS = 0.18

Rows = dict[str, list[dict[str, Any]]]


def sessions(fleet: Simulated, rows: Rows) -> Score:
    """The begin and end of each session."""
    found = []
    for row in of_fleet(rows["broker_sessions"], fleet):
        if not is_settling(ms(row["started_at"])):
            found.append(_seen("broker_up", row, row["started_at"]))
        if row["ended_at"] is not None:
            found.append(_seen("broker_down", row, row["ended_at"], row["end_reason"]))
    return match("broker_sessions", found, fleet.expected("broker_up", "broker_down"))


def role_switches(fleet: Simulated, rows: Rows) -> Score:
    """A role switch changes the id within a session."""
    found = [
        _seen("broker_changed", row, role["at"])
        for row in of_fleet(rows["broker_spans"], fleet)
        for role in row["roles"]
        if row["state"] == "up"
    ]
    return match("broker_spans", found, fleet.expected("broker_changed"))


def restarts(fleet: Simulated, rows: Rows) -> Score:
    """Stops and starts of NameServers, except the stop at the end."""
    observed = of_fleet(rows["observed"], fleet)
    last = {row["ns"]: max(r["from_seq"] for r in observed if r["ns"] == row["ns"]) for row in observed}
    found = []
    for row in observed:
        if not is_settling(ms(row["from_at"])):
            found.append(_seen("server_started", row, row["from_at"]))
        if row["from_seq"] != last[row["ns"]]:
            found.append(_seen("server_stopped", row, row["to_at"]))
    return match("observed", found, fleet.expected("server_started", "server_stopped"))


def outages(fleet: Simulated, rows: Rows) -> Score:
    """The number of planned and unplanned outages of each broker; uncertain ones may be counted."""
    certain: Counter[tuple[str, str, str]] = Counter()
    possible: Counter[tuple[str, str, str]] = Counter()
    for one in fleet.expected("broker_down"):
        if set(one.reasons) == {"replaced"}:
            continue  # a role switch is no outage
        kind = "outages" if {"closed", "expired", "idle"} & set(one.reasons) else "planned_outages"
        possible[one.ns, one.addr, kind] += 1
        certain[one.ns, one.addr, kind] += one.certain
    counted: Counter[tuple[str, str, str]] = Counter()
    for row in of_fleet(rows["broker_availability_daily"], fleet):
        for kind in ("outages", "planned_outages"):
            counted[row["ns"], row["addr"], kind] += row[kind]
    missed = [f"{fleet.mark}{key}: {counted[key]} of {n}" for key, n in certain.items() if counted[key] < n]
    beyond = [f"{fleet.mark}{key}: {n} of {possible[key]}" for key, n in counted.items() if n > possible[key]]
    return Score("broker_availability_daily", sum(counted.values()), missed, beyond)


def flaps(fleet: Simulated, rows: Rows) -> Score:
    """Each flapping broker as one interval with all transitions, and scope broker."""
    expected = [
        Expected(kind="flap", ns=ns, addr=addr, from_ms=truth.at, to_ms=truth.at + truth.granularity_ms)
        for truth in fleet.truths
        if truth.fault == "flap"
        for ns in truth.nameservers
        for addr in truth.addrs
    ]
    changes = Counter(
        (one.ns, one.addr, truth.at) for truth in fleet.truths if truth.fault == "flap" for one in truth.expect
    )
    found, wrong = [], []
    for row in of_fleet(rows["broker_flaps"], fleet):
        found.append(_seen("flap", row, row["window_start"]))
        told = [n for (ns, addr, at), n in changes.items() if (ns, addr) == (row["ns"], row["addr"])]
        if row["transitions"] not in told or row["scope"] != "broker":
            wrong.append(f"{row}: {told}")
    return match("broker_flaps", found, expected) + Score("broker_flaps", 0, [], wrong)


def late_beats(fleet: Simulated, rows: Rows) -> Score:
    """Only slow or frozen brokers have long gaps."""
    must, may = set(), set()
    for truth in fleet.truths:
        keys = {(ns, addr) for ns in truth.nameservers for addr in truth.addrs}
        if truth.fault == "slow":
            must |= keys
        if truth.fault in ("freeze", "cut", "crash"):
            may |= keys
    found = {
        (row["ns"], row["addr"])
        for row in of_fleet(rows["heartbeat_quality"], fleet)
        if (row["gap_max_ms"] or 0) > 36_000  # heartbeats are sent every 30 s, with a jitter of 2 s
    }
    return Score(
        "heartbeat_quality",
        len(found),
        [f"{fleet.mark}{key}" for key in must - found],
        [f"{fleet.mark}{key}" for key in found - must - may],
    )


def advice(fleet: Simulated, rows: Rows) -> Score:
    """One timeout is recommended per NameServer, above the normal gaps and not above the default."""
    recommended = [row for row in of_fleet(rows["detector_tradeoff"], fleet) if row["recommended"]]
    wrong = [
        str(row) for row in recommended if row["detector"] != "timeout" or not 30_000 < row["timeout_ms"] <= 120_000
    ]
    missed = [f"{fleet.mark}ns-{k}" for k in (1, 2, 3) if [row["ns"] for row in recommended].count(f"ns-{k}") != 1]
    return Score("detector_tradeoff", len(recommended) - len(wrong), missed, wrong)


def elections(fleet: Simulated, rows: Rows) -> Score:
    """Each election with its cause and new master, and the time without a master."""
    kinds = {"elected": "master_elected", "no_master": "no_master_elected"}
    table = [row for row in of_fleet(rows["elections"], fleet) if not is_settling(ms(row["at"]))]
    found = [_seen(kinds[row["outcome"]], row | {"addr": row["addr"] or ""}, row["at"], row["cause"]) for row in table]
    wrong = []
    for truth in fleet.truths:
        bounds_of = FAILOVER_MS.get(truth.fault)
        bounds = (0, 0) if bounds_of is None else bounds_of(truth.until - truth.at)
        if bounds_of is not None and not any(
            row["broker"] in truth.brokers
            and row["failover_s"] is not None
            and abs(ms(row["lost_at"]) - truth.at) <= 1000
            and bounds[0] <= row["failover_s"] * 1000 <= bounds[1]
            for row in table
        ):
            wrong.append(f"{fleet.mark}{truth}")
    expected = fleet.expected("master_elected", "no_master_elected")
    return match("elections", found, expected) + Score("elections", 0, wrong, [])


# milliseconds without a master, by fault and its duration
FAILOVER_MS: dict[str, Callable[[int], tuple[int, int]]] = {
    "master-killed": lambda _: (0, 1000),
    "master-frozen": lambda _: (10_000, 16_000),
    "set-killed": lambda lasts_ms: (lasts_ms, lasts_ms + 1000),
}


def masterless(fleet: Simulated, rows: Rows) -> Score:
    """A set has no master exactly while all its replicas are down; otherwise all replicas are in sync at the end."""
    table = [row for row in of_fleet(rows["sync_state"], fleet) if not is_settling(ms(row["from_at"]))]
    without = [row for row in table if row["master_id"] is None]
    lost = [truth for truth in fleet.truths if truth.fault == "set-killed"]
    missed = [
        f"{fleet.mark}{truth}"
        for truth in lost
        if not any(
            row["broker"] in truth.brokers and ms(row["from_at"]) == truth.at and ms(row["to_at"]) == truth.until
            for row in without
        )
    ]
    last = {row["broker"]: row for row in sorted(table, key=lambda row: int(row["from_seq"]))}
    beyond = [str(row) for row in last.values() if row["out_of_sync"]]
    beyond += [f"{len(without)} intervals without a master, {len(lost)} lost sets"] * (len(without) != len(lost))
    return Score("sync_state", len(without), missed, beyond)


class Check(NamedTuple):
    run: Callable[[Simulated, Rows], Score]
    reads: tuple[str, ...]


CHECKS = (
    Check(sessions, ("broker_sessions",)),
    Check(role_switches, ("broker_spans",)),
    Check(restarts, ("observed",)),
    Check(outages, ("broker_availability_daily",)),
    Check(flaps, ("broker_flaps",)),
    Check(late_beats, ("heartbeat_quality",)),
    Check(advice, ("detector_tradeoff",)),
    Check(elections, ("elections",)),
    Check(masterless, ("sync_state",)),
)


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> list[Simulated]:
    out = tmp_path_factory.mktemp("fleets")
    return [
        simulate(name, seed=seed, days=DAYS.get(name, _SOME_DAYS), out=out / f"{name}-{seed}")
        for name in shipped_names()
        for seed in SEEDS
    ]


@pytest.fixture(scope="module")
def rows(fleets: list[Simulated], spark: SparkSession) -> Rows:
    return built(fleets, STEPS, sorted({table for check in CHECKS for table in check.reads}), spark)


@pytest.mark.slow
@pytest.mark.lake_long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.run.__name__)
def test_the_lake_finds_all_injected_faults_and_no_others(check: Check, fleets: list[Simulated], rows: Rows) -> None:
    scores = [check.run(fleet, rows) for fleet in fleets]
    total = scores[0]
    for score in scores[1:]:
        total = total + score
    print(total)  # noqa: T201  # shown by pytest -s
    assert total.right > 0
    assert (total.missed, total.unexplained) == ([], [])


def _seen(kind: str, row: dict[str, Any], at: Any, reason: str | None = None) -> tuple[Expected, str]:
    reasons = () if reason is None else (reason,)
    moment = ms(at)
    one = Expected(kind=kind, ns=row["ns"], addr=row.get("addr", ""), reasons=reasons, from_ms=moment, to_ms=moment)
    return one, f"{kind} {row}"

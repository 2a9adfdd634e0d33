"""The lake finds exactly the injected route changes.

For each shipped scenario with three NameServers: brokers disconnected from one of them (ns_divergence), added, changed
and removed topics, and role switches (convergence). `pytest -s` prints precision and recall.
"""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from routebook.fleet.scenario import FaultKind, load_scenario, shipped_names
from routebook.fleet.virtual.simulation import Simulation
from routebook.fleet.virtual.truth import Expected, Truth
from routebook.lake.build.silver.differences import PROPAGATION_S
from routebook.lake.build.steps import STEPS
from tests.support.bronze import from_lines
from tests.support.fleet_truth import read_truth
from tests.support.journal_lines import journal_lines
from tests.support.lake_refresh import needed, refreshed

START_MS = 1_767_225_600_000
LIMIT_MS = PROPAGATION_S * 1000
NAMESERVERS = ("ns-1", "ns-2", "ns-3")
SOON_MS = 1000
MAX_BROKERS = 24
DAYS = {"eventful-days": 2.0}  # all others occur once a day, from 03:00 for at most an hour


class ExpectedRow(NamedTuple):
    """A row that must (`certain`) or may exist: its key, and the ranges of its begin and end, in ms."""

    key: tuple[Any, ...]
    begins: tuple[int, int]
    ends: tuple[int, int]
    certain: bool = True


class Found(NamedTuple):
    key: tuple[Any, ...]
    begin: int
    end: int


@pytest.mark.slow
@pytest.mark.lake_long
@pytest.mark.parametrize("name", shipped_names())
def test_the_lake_finds_all_route_changes_and_no_others(name: str, tmp_path: Path, spark: SparkSession) -> None:
    out = tmp_path / "fleet"
    scenario = load_scenario(name)
    scenario = scenario.sized(brokers=min(scenario.brokers.count, MAX_BROKERS), topics=30, clients=0)
    days = DAYS.get(name, 0.25)
    Simulation(scenario, days=days, seed=1, nameservers=len(NAMESERVERS), start_ms=START_MS, out=out).run()
    truths = read_truth(out)
    events = from_lines(spark, [line for ns in NAMESERVERS for line in journal_lines(out / ns)])
    made = refreshed(needed(STEPS, "ns_divergence", "convergence"), [events])
    end_ms = START_MS + int(days * 86_400_000)
    divergence = [
        Found((r.topic, r.addr, r.ns_a, r.ns_b, r.difference), _ms(r.from_at), _ms(r.to_at) if r.to_at else end_ms)
        for r in made["ns_divergence"].collect()
    ]
    changes = made["convergence"].collect()
    topics = [
        Found((r.change, r.topic, r.broker, r.nameservers), _ms(r.first_at), _ms(r.last_at))
        for r in changes
        if r.topic is not None
    ]
    roles = [Found((r.addr, r.nameservers), _ms(r.first_at), _ms(r.last_at)) for r in changes if r.change == "role"]
    report = [
        _score(f"{name}: divergence", divergence, list(_divergence(truths))),
        _score(f"{name}: topic changes", topics, list(_topic_changes(truths))),
        _score(f"{name}: role switches", roles, list(_roles(truths))),
    ]
    assert not any(report), report


def _divergence(truths: Iterable[Truth]) -> Iterable[ExpectedRow]:
    """A broker disconnected from one NameServer for long enough is a difference from each other NameServer."""
    for truth in truths:
        if truth.fault != FaultKind.CUT:
            continue
        for down, up in _outages(truth):
            longest, shortest = up.to_ms - down.from_ms, up.from_ms - down.to_ms
            if longest < LIMIT_MS:
                continue
            certain = down.certain and up.certain and shortest >= LIMIT_MS
            for other in NAMESERVERS:
                if other != down.ns:
                    a, b = sorted((down.ns, other))
                    lacking = "missing_a" if a == down.ns else "missing_b"
                    times = ((down.from_ms, down.to_ms), (up.from_ms, up.to_ms))
                    yield ExpectedRow((None, down.addr, a, b, lacking), *times, certain)


def _outages(truth: Truth) -> Iterable[tuple[Expected, Expected]]:
    for addr in truth.addrs:
        outages = [one for one in truth.expect if one.addr == addr]
        yield from zip(outages[::2], outages[1::2], strict=True)


def _topic_changes(truths: Iterable[Truth]) -> Iterable[ExpectedRow]:
    known: set[str] = set()
    for truth in truths:
        if truth.fault != FaultKind.CHURN:
            continue
        is_deleted = truth.expect[0].kind == "topic_deleted"
        change = "topic_removed" if is_deleted else "topic_changed" if truth.topic in known else "topic_added"
        known.add(truth.topic)
        soon = (truth.at, truth.at + SOON_MS)
        for broker in truth.brokers:
            yield ExpectedRow((change, truth.topic, broker, len(NAMESERVERS)), soon, soon)


def _roles(truths: list[Truth]) -> Iterable[ExpectedRow]:
    """New masters. If topics of the group changed at the same time, either event can come first."""
    churned = {(truth.at, broker) for truth in truths if truth.fault == FaultKind.CHURN for broker in truth.brokers}
    for truth in truths:
        if truth.fault != FaultKind.SWITCH:
            continue
        soon = (truth.at, truth.at + SOON_MS)
        if (truth.at, truth.brokers[0]) in churned:
            for addr in truth.addrs:
                yield from (ExpectedRow((addr, k), soon, soon, False) for k in range(1, len(NAMESERVERS) + 1))
            continue
        for addr in {one.addr for one in truth.expect if one.kind == "broker_changed"}:
            yield ExpectedRow((addr, len(NAMESERVERS)), soon, soon)


def _score(what: str, found: list[Found], wanted: list[ExpectedRow]) -> list[str]:
    """Mismatches; prints precision and recall."""
    left = list(found)
    missing = []
    for want in sorted(wanted, key=lambda one: not one.certain):
        fits = [
            one
            for one in left
            if one.key == want.key and _within(one.begin, want.begins) and _within(one.end, want.ends)
        ]
        if fits:
            left.remove(fits[0])
        elif want.certain:
            missing.append(want)
    certain = sum(want.certain for want in wanted)
    precision = 1 - len(left) / len(found) if found else 1.0
    recall = 1 - len(missing) / certain if certain else 1.0
    figures = f"{certain} to find, {len(found)} found, precision {precision:.1%}, recall {recall:.1%}"
    sys.stdout.write(f"{what}: {figures}\n")
    return [f"{what}: unexpected: {one}" for one in left] + [f"{what}: not found: {one}" for one in missing]


def _within(ms: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= ms <= bounds[1]


def _ms(moment: datetime) -> int:
    return round(moment.astimezone(UTC).timestamp() * 1000)

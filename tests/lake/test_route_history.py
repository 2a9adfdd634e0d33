"""gold.route_timeline and routebook.history return the same past routes."""

from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from routebook.codes import PERM_WRITE
from routebook.fleet.scenario import Scenario, parse_scenario
from routebook.fleet.virtual.simulation import Simulation
from routebook.history.query.history import History
from routebook.history.query.offline import open_offline
from routebook.lake.build.steps import STEPS
from routebook.model import TopicRoute
from tests.support.bronze import from_lines
from tests.support.journal_lines import journal_lines
from tests.support.lake_refresh import needed, refreshed

START_MS = 1_767_225_600_000
DAY_MS = 86_400_000
TOPICS = 40
MOMENTS = 12

_BUSY = """
[brokers]
count = 8
paired = 0.5
acting_master = "new"
[topics]
count = 20
[clients]
count = 0
"""
_FAULTS = {"crash": 10, "stop": 20, "freeze": 10, "cut": 10, "flap": 3, "switch": 10, "churn": 120, "restart": 4}


def _scenario() -> Scenario:
    faults = "".join(f'[[fault]]\nkind = "{kind}"\nper_day = {often}\n' for kind, often in _FAULTS.items())
    return parse_scenario(_BUSY + faults, name="busy")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the journal of a simulated day with all kinds of faults."""
    out = tmp_path_factory.mktemp("busy") / "fleet"
    Simulation(_scenario(), days=1, seed=7, nameservers=1, start_ms=START_MS, out=out).run()
    home = out.parent / "home"
    home.mkdir()
    (home / "journal").symlink_to(out / "ns-1")
    return home


@pytest.mark.slow
@pytest.mark.lake_long
def test_route_timeline_equals_history(simulated: Path, spark: SparkSession) -> None:
    lines = journal_lines(simulated / "journal")
    cut = len(lines) // 3
    parts = [from_lines(spark, lines[:cut]), from_lines(spark, lines[cut:])]
    versions = _by_topic(refreshed(needed(STEPS, "route_timeline"), parts)["route_timeline"])
    draw = Random(1)
    asked = 0
    with open_offline(simulated) as history:
        for topic in draw.sample(sorted(versions), min(TOPICS, len(versions))):
            assert [row.version for row in versions[topic]] == list(range(1, len(versions[topic]) + 1))
            edges = [_ms(row.valid_from) + off for row in versions[topic] for off in (-1, 0, 1)]
            moments = draw.sample(edges, min(MOMENTS, len(edges)))
            for at_ms in [*moments, START_MS + draw.randrange(DAY_MS), START_MS + draw.randrange(DAY_MS)]:
                assert _told(versions[topic], at_ms) == _remembered(history, topic, at_ms), (topic, at_ms)
                asked += 1
    assert asked > 100


def _by_topic(timeline: DataFrame) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in timeline.orderBy("topic", "version").collect():
        found.setdefault(row.topic, []).append(row)
    return found


def _told(versions: list[Any], at_ms: int) -> tuple[dict[str, int], int, int]:
    then = [v for v in versions if _ms(v.valid_from) <= at_ms and (v.valid_to is None or at_ms < _ms(v.valid_to))]
    assert len(then) <= 1, "versions overlap"
    if not then:
        return {}, 0, 0
    (row,) = then
    assert row.brokers == sorted(row.perms)
    assert row.broker_count == len(row.brokers)
    return dict(row.perms), row.read_queues, row.write_queues


def _remembered(history: History, topic: str, at_ms: int) -> tuple[dict[str, int], int, int]:
    route: TopicRoute | None = history.route_at(topic, at_ms).route
    queues = [] if route is None else route.queue_datas
    return (
        {queue.broker_name: queue.perm for queue in queues},
        sum(queue.read_queue_nums for queue in queues),
        sum(queue.write_queue_nums for queue in queues if queue.perm & PERM_WRITE),
    )


def _ms(moment: datetime) -> int:
    return round(moment.astimezone(UTC).timestamp() * 1000)

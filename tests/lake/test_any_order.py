"""Events in any order, with duplicates, split over several refreshes, give the same tables as one full build."""

import json
import random
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from routebook.lake.build.steps import STEPS
from tests.support.bronze import from_lines
from tests.support.lake_refresh import needed, refreshed
from tests.support.random_broker_journal import random_broker_journal
from tests.support.random_route_journal import random_route_journal

PARTS = 3


class Subject(NamedTuple):
    """Random journals, and the tables to compare."""

    journal: Callable[[int], list[str]]
    journals: int  # in one lake, with different names: a refresh of many journals takes no longer than of one
    tables: tuple[str, ...]


BROKERS = Subject(
    random_broker_journal,
    20,
    (
        "observed",
        "broker_spans",
        "broker_sessions",
        "broker_availability_daily",
        "broker_flaps",
        "heartbeat_quality",
        "detector_tradeoff",
    ),
)
ROUTES = Subject(
    random_route_journal,
    40,
    (
        "topic_spans",
        "route_timeline",
        "topic_placement",
        "differences",
        "ns_divergence",
        "convergence",
        "lookup_demand",
        "outage_impact",
        "admin_audit",
    ),
)


@pytest.mark.slow
@pytest.mark.lake_long
@pytest.mark.parametrize(
    "subject", [BROKERS] * 3 + [ROUTES] * 2, ids=lambda subject: subject.journal.__name__.split("_")[1]
)
def test_tables_do_not_depend_on_the_order_of_events(subject: Subject, spark: SparkSession) -> None:
    seed = random.getrandbits(32)  # pytest-randomly prints the seed of `random`
    draw = Random(seed)
    lines: list[str] = []
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    for _ in range(subject.journals):
        journal = subject.journal(draw.randrange(1_000_000))
        lines += journal
        for part, segment in zip(parts, _segments(journal, draw), strict=True):
            part += segment
    whole, split = _tables(spark, subject.tables, [lines]), _tables(spark, subject.tables, parts)
    for table in subject.tables:
        assert whole[table], (seed, table)
        assert split[table] == whole[table], (seed, table)


def _segments(lines: list[str], draw: Random) -> list[list[str]]:
    """In order, with a late segment, or in random order; some segments twice."""
    order = draw.choice(["segments", "late segments", "any"])
    if order == "any":
        lines = draw.sample(lines, len(lines))
    cuts = sorted(draw.choices(range(len(lines) + 1), k=PARTS - 1))
    segments = [lines[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    if order == "late segments":
        draw.shuffle(segments)
    segments[-1] = [*segments[-1], *draw.choice(segments)]
    return segments


def _tables(spark: SparkSession, tables: Sequence[str], parts: Sequence[list[str]]) -> dict[str, list[str]]:
    made = refreshed(needed(STEPS, *tables), [from_lines(spark, part) for part in parts if part])
    return {table: sorted(_text(row.asDict(recursive=True)) for row in made[table].collect()) for table in tables}


def _text(row: dict[str, Any]) -> str:
    return json.dumps({name: _plain(value) for name, value in row.items()}, sort_keys=True, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    return {str(key): value[key] for key in value} if isinstance(value, dict) else value

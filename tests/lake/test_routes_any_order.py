"""Any order, duplication and split of the same events gives the same tables of routes as one full build."""

import json
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from routebook.lake.build.steps import STEPS
from tests.support.bronze import from_lines
from tests.support.lake_refresh import needed, refreshed
from tests.support.route_story import route_story

TABLES = (
    "topic_spans",
    "route_timeline",
    "topic_placement",
    "differences",
    "ns_divergence",
    "convergence",
    "lookup_demand",
    "outage_impact",
    "admin_audit",
)
PARTS = 3
STORIES = 40  # in one lake, each with NameServers and brokers of its own: a refresh takes as long for one as for many


@pytest.mark.slow
@pytest.mark.lake_long
@pytest.mark.parametrize("seed", [1, 2])
def test_tables_do_not_depend_on_how_events_come(seed: int, spark: SparkSession) -> None:
    draw = Random(seed)
    lines: list[str] = []
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    for _ in range(STORIES):
        told = route_story(draw.randrange(1_000_000))
        lines += told
        for part, segment in zip(parts, _segments(told, draw), strict=True):
            part += segment
    whole, split = _tables(spark, [lines]), _tables(spark, parts)
    for table in TABLES:
        assert whole[table], table
        assert split[table] == whole[table], table


def _segments(lines: list[str], draw: Random) -> list[list[str]]:
    """In order, with a late segment, or in no order at all; and some of it twice."""
    order = draw.choice(["segments", "late segments", "any"])
    if order == "any":
        lines = draw.sample(lines, len(lines))
    cuts = sorted(draw.sample(range(1, len(lines)), PARTS - 1))
    segments = [lines[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    if order == "late segments":
        draw.shuffle(segments)
    segments[-1] = [*segments[-1], *draw.choice(segments)]
    return segments


def _tables(spark: SparkSession, parts: list[list[str]]) -> dict[str, list[str]]:
    made = refreshed(needed(STEPS, *TABLES), [from_lines(spark, part) for part in parts])
    return {table: sorted(_text(row.asDict(recursive=True)) for row in made[table].collect()) for table in TABLES}


def _text(row: dict[str, Any]) -> str:
    plain = {
        name: {str(key): value[key] for key in value} if isinstance(value, dict) else value
        for name, value in row.items()
    }
    return json.dumps(plain, sort_keys=True, default=str)

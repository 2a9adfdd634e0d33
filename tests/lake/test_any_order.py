"""Any order, duplication and split of the same events over several refreshes gives the tables of one full build."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from routebook.lake.build.steps import STEPS
from tests.support.bronze import from_lines
from tests.support.lake_refresh import needed, refreshed
from tests.support.lake_story import story

TABLES = (
    "observed",
    "broker_spans",
    "broker_sessions",
    "broker_availability_daily",
    "broker_flaps",
    "heartbeat_quality",
    "detector_tradeoff",
)
_PARTS = 3
_STORIES = 20  # in one lake, each with NameServers of its own: a refresh takes as long for one as for many


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Stories, and how they come: each in parts of its own, in any order, some of it twice."""
    numbers = draw(st.lists(st.integers(0, 1_000_000), min_size=_STORIES, max_size=_STORIES, unique=True))
    lines: list[str] = []
    parts: list[list[str]] = [[] for _ in range(_PARTS)]
    for number in numbers:
        told = story(number)
        lines += told
        order = draw(st.sampled_from(["segments", "late segments", "any"]))
        if order == "any":
            told = Random(number).sample(told, len(told))
        cuts = sorted(draw(st.lists(st.integers(0, len(told)), min_size=_PARTS - 1, max_size=_PARTS - 1)))
        segments = [told[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(told)], strict=True)]
        if order == "late segments":
            segments = draw(st.permutations(segments))
        segments[-1] = [*segments[-1], *draw(st.sampled_from(segments))]
        for part, segment in zip(parts, segments, strict=True):
            part += segment
    return lines, [part for part in parts if part]


@pytest.mark.slow
@pytest.mark.lake_long
@settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate]
)
@given(deliveries())
def test_tables_do_not_depend_on_how_events_come(
    spark: SparkSession, delivery: tuple[list[str], list[list[str]]]
) -> None:
    lines, parts = delivery
    whole = _tables(spark, [lines])
    split = _tables(spark, parts)
    for table in TABLES:
        assert split[table] == whole[table], table


def _tables(spark: SparkSession, parts: Sequence[list[str]]) -> dict[str, list[str]]:
    made = refreshed(needed(STEPS, *TABLES), [from_lines(spark, part) for part in parts])
    return {table: sorted(_text(row.asDict(recursive=True)) for row in made[table].collect()) for table in TABLES}


def _text(row: dict[str, Any]) -> str:
    rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
    return json.dumps(rounded, sort_keys=True, default=str)

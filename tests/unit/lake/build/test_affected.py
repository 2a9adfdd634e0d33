"""Which steps a refresh runs, by the new events."""

from datetime import date
from typing import cast

from routebook.lake.build.affected import Affected
from routebook.lake.build.step import Inputs
from routebook.lake.build.steps import STEPS
from routebook.lake.build.window import News, Window

ROLLUPS = frozenset({"heartbeat_minute", "lookup_minute"})
ALL = {step.table.name for step in STEPS}


class _Inputs:
    def __init__(self, *, has_open_rows: bool) -> None:
        self._has_open_rows = has_open_rows

    def replaces_rows(self) -> bool:
        return self._has_open_rows


def _included(news: News, *, has_open_rows: bool = False, all_steps: bool = False) -> set[str]:
    affected = Affected([Window("ns-1", 7, 0, date(2026, 1, 1), news)], all_steps=all_steps)
    inputs = cast("Inputs", _Inputs(has_open_rows=has_open_rows))
    return {step.table.name for step in STEPS if affected.includes(step, inputs)}


QUIET = News(kinds=ROLLUPS, is_late=False, is_start=False, is_new_day=False)
DAILY = {"observed", "lookup_hours", "broker_availability_daily", "heartbeat_quality", "detector_tradeoff"}


def test_rollups_affect_only_counts_and_observed_time() -> None:
    assert _included(QUIET) == DAILY | {"ns_divergence", "lookup_demand"}


def test_rollups_affect_open_outages() -> None:
    assert _included(QUIET, has_open_rows=True) - _included(QUIET) == {"outage_impact"}


def test_the_first_event_of_a_day_affects_the_placement() -> None:
    assert _included(QUIET._replace(is_new_day=True)) - _included(QUIET) == {"topic_placement"}


def test_a_start_affects_everything_that_reads_the_starts() -> None:
    found = _included(QUIET._replace(is_start=True))
    assert {"broker_spans", "topic_spans", "differences", "route_timeline", "outage_impact"} <= found
    assert found.isdisjoint({"admin_audit", "elections", "sync_state", "protections"})


def test_an_event_affects_what_reads_its_kind_and_what_follows() -> None:
    found = _included(QUIET._replace(kinds=frozenset({"topics_changed"})))
    assert {"topic_spans", "route_timeline", "convergence", "differences", "outage_impact", "admin_audit"} <= found
    assert found.isdisjoint({"broker_spans", "broker_flaps", "heartbeat_quality", "lookup_demand", "elections"})


def test_late_events_and_backfills_affect_everything() -> None:
    assert _included(QUIET._replace(is_late=True)) == ALL
    assert _included(QUIET, all_steps=True) == ALL
    assert _included(News()) == ALL

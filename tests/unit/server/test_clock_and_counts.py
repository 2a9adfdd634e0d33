"""The clock that does not jump, and the counters of request codes."""

import time

import pytest

from routebook.server.clock import Clock
from routebook.server.observe.request_counts import OTHER, RequestCounts


def test_now_is_the_wall_clock() -> None:
    before = time.time() * 1000
    now_ms = Clock().now_ms()
    assert before - 1000 <= now_ms <= time.time() * 1000 + 1000


def test_a_step_of_the_wall_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before = clock.now_ms()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert before <= clock.now_ms() < before + 60_000


def test_counts_are_printed_as_java_does_and_begin_anew() -> None:
    counts = RequestCounts()
    for code in (322, 105, 105):
        counts.requests[code] += 1
    counts.responses[0] += 3
    assert counts.take() == ("{105:2, 322:1}", "{0:3}")
    assert counts.take() == (None, None)


def test_totals_are_kept_and_codes_that_mean_nothing_are_summed() -> None:
    counts = RequestCounts()
    for code in (105, 105, 77_777, 88_888):
        counts.requests[code] += 1
    counts.responses[0] += 4
    assert counts.totals() == ({105: 2, OTHER: 2}, {0: 4})
    counts.take()
    counts.requests[105] += 1
    counts.responses[9_999] += 1
    assert counts.totals() == ({105: 3, OTHER: 2}, {0: 4, OTHER: 1})

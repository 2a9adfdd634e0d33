"""The clock follows monotonic time and ignores steps of the wall clock."""

import time

import pytest

from routebook.server.clock import Clock


def test_now_starts_at_the_wall_clock() -> None:
    before = time.time() * 1000
    now_ms = Clock().now_ms()
    assert before - 1000 <= now_ms <= time.time() * 1000 + 1000


def test_a_step_of_the_wall_clock_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before = clock.now_ms()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert before <= clock.now_ms() < before + 60_000

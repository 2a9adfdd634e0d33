"""Concurrent requests: bounded, in order, cancelled by the first error; and the progress bar."""

import asyncio
import sys

import pytest

from routebook.cli import concurrency as module
from routebook.cli.concurrency import ProgressBar, gather
from tests.support.asynchronous import asynchronous
from tests.support.command_line import Captured, Terminal


@asynchronous
async def test_results_keep_the_order_of_the_keys_and_concurrency_is_bounded() -> None:
    running = peak = 0

    async def double(number: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        for _ in range(10 - number % 7):
            await asyncio.sleep(0)
        running -= 1
        return 2 * number

    found = await gather(range(20), double, progress=ProgressBar("numbers"), concurrency=4)
    assert list(found.items()) == [(number, 2 * number) for number in range(20)]
    assert peak == 4


@asynchronous
async def test_the_first_error_cancels_the_rest() -> None:
    done: list[int] = []

    async def fail(number: int) -> None:
        await asyncio.sleep(0)
        if number == 3:
            raise ValueError("three")
        done.append(number)

    with pytest.raises(ValueError, match="three"):
        await gather(range(1000), fail, progress=ProgressBar("numbers"), concurrency=2)
    assert len(done) < 10
    assert len(asyncio.all_tasks()) == 1


@asynchronous
async def test_no_keys() -> None:
    async def never(_: int) -> None:
        raise AssertionError

    assert await gather([], never, progress=ProgressBar("numbers")) == {}


def steps(stderr: Captured, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar("counting") as progress:
        progress.add_total(3)
        for _ in range(3):
            progress.step()
    return stderr.getvalue()


def test_a_bar_is_shown_on_a_terminal_after_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DELAY_S", -1.0)
    assert "counting" in steps(Terminal(), monkeypatch)


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DELAY_S", -1.0)
    assert steps(Captured(), monkeypatch) == ""


def test_no_bar_before_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DELAY_S", 3600.0)
    assert steps(Terminal(), monkeypatch) == ""

"""Many answers at once: bounded, in order, ended by the first error; and the bar that shows that it lasts."""

import asyncio
import io
import sys

import pytest

from routebook.cli import concurrency as module
from routebook.cli.concurrency import Waiting, gather
from tests.support.asynchronous import asynchronous
from tests.support.command_line import Terminal


@asynchronous
async def test_in_the_order_of_the_keys_and_never_more_than_so_many_at_once() -> None:
    running = most = 0

    async def double(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10 - number % 7):
            await asyncio.sleep(0)
        running -= 1
        return 2 * number

    found = await gather(range(20), double, waiting=Waiting("numbers"), at_once=4)
    assert list(found.items()) == [(number, 2 * number) for number in range(20)]
    assert most == 4


@asynchronous
async def test_the_first_error_ends_it_all() -> None:
    done: list[int] = []

    async def fail(number: int) -> None:
        await asyncio.sleep(0)
        if number == 3:
            raise ValueError("three")
        done.append(number)

    with pytest.raises(ValueError, match="three"):
        await gather(range(1000), fail, waiting=Waiting("numbers"), at_once=2)
    assert len(done) < 10
    assert len(asyncio.all_tasks()) == 1


@asynchronous
async def test_nothing_to_do() -> None:
    async def never(_: int) -> None:
        raise AssertionError

    assert await gather([], never, waiting=Waiting("numbers")) == {}


def steps(stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    with Waiting("counting sheep") as waiting:
        waiting.expect(3)
        for _ in range(3):
            waiting.step()
    return stderr.getvalue()


def test_a_bar_where_it_lasts_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_S", -1.0)
    assert "counting sheep" in steps(Terminal(), monkeypatch)


def test_no_bar_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_S", -1.0)
    assert steps(io.StringIO(), monkeypatch) == ""


def test_no_bar_where_it_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_S", 3600.0)
    assert steps(Terminal(), monkeypatch) == ""

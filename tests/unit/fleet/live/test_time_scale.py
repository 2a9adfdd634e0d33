"""The time scale of a live run."""

import asyncio

import pytest

from routebook.errors import UsageError
from routebook.fleet.live.time_scale import TimeScale
from tests.support.asynchronous import asynchronous


def test_times_are_divided_by_the_scale() -> None:
    assert TimeScale().seconds(30_000) == 30
    assert TimeScale(20).seconds(30_000) == 1.5


@pytest.mark.parametrize("scale", [0, -1, 1001, float("nan")])
def test_an_invalid_scale_is_rejected(scale: float) -> None:
    with pytest.raises(UsageError, match="time scale"):
        TimeScale(scale)


@asynchronous
async def test_a_late_consumer_gets_one_tick_and_missed_ones_are_skipped() -> None:
    clock = asyncio.get_running_loop().time
    late_until, times = 0.0, []
    async for number in TimeScale(100).every(5000, first_ms=1000):
        times.append(clock())
        if number == 0:
            late_until = times[0] + 0.26  # more than five ticks of 50 ms
            await asyncio.sleep(0.26)
        if number == 3:
            break
    assert times[1] >= late_until
    assert times[3] - times[1] >= 0.05  # missed ticks are skipped: at least one whole period lies between

"""Real time, or the same faster."""

import asyncio

import pytest

from routebook.errors import UsageError
from routebook.fleet.live.pace import Pace
from tests.support.asynchronous import asynchronous


def test_everything_is_as_much_shorter() -> None:
    assert Pace().s(30_000) == 30
    assert Pace(20).s(30_000) == 1.5


@pytest.mark.parametrize("scale", [0, -1, 1001, float("nan")])
def test_what_is_no_scale(scale: float) -> None:
    with pytest.raises(UsageError, match="time scale"):
        Pace(scale)


@asynchronous
async def test_who_is_late_gets_one_tick_and_none_is_made_up_for() -> None:
    clock = asyncio.get_running_loop().time
    late_until, times = 0.0, []
    async for number in Pace(100).every(5000, first_ms=1000):
        times.append(clock())
        if number == 0:
            late_until = times[0] + 0.26  # more than five ticks of 50 ms
            await asyncio.sleep(0.26)
        if number == 3:
            break
    assert times[1] >= late_until
    assert times[3] - times[1] >= 0.05  # the third is not made up for: at least one whole period lies between

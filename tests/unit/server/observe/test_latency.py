"""Histograms of powers of two, and the event loop's delay."""

import asyncio
import time

import pytest

from routebook.server.observe.latency import Histogram, Latencies, LoopDelay
from tests.support.asynchronous import asynchronous


@pytest.mark.parametrize(
    ("elapsed_ns", "bucket"),
    [(0, 0), (999, 0), (1000, 1), (1999, 1), (2000, 2), (3999, 2), (4000, 3), (1 << 60, 51)],
)
def test_a_bucket_holds_what_is_below_its_power_of_two(elapsed_ns: int, bucket: int) -> None:
    histogram = Histogram()
    histogram.add(elapsed_ns)
    assert histogram.counts.index(1) == bucket
    assert histogram.total_ns == elapsed_ns
    assert elapsed_ns < 1000 << bucket


def test_latencies_are_kept_per_kind_and_strangers_share_one() -> None:
    latencies = Latencies()
    latencies.add(105, 1, 5000)
    latencies.add(105, 3, 9000)
    for code in range(100_000, 100_100):
        latencies.add(code, 1, 1000)
    assert sum(latencies.by_code[105].counts) == 1
    assert (sum(latencies.several.counts), latencies.several.total_ns) == (1, 9000)
    assert sum(latencies.others.counts) == 100
    assert 100_000 not in latencies.by_code


def hold_up(seconds: float) -> None:
    time.sleep(seconds)


@asynchronous
async def test_the_delay_of_a_loop_that_is_held_up_shows() -> None:
    delay = LoopDelay()
    delay.start()
    hold_up(0.7)
    await asyncio.sleep(0.01)
    delay.stop()
    assert sum(delay.histogram.counts) == 1
    assert delay.histogram.total_ns > 100_000_000
    delay.stop()

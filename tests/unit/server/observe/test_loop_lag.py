"""Samples of the event-loop lag."""

import asyncio
import time

from routebook.server.observe.loop_lag import LoopLag
from tests.support.asynchronous import asynchronous


def block(seconds: float) -> None:
    time.sleep(seconds)


@asynchronous
async def test_a_blocked_loop_is_measured() -> None:
    samples: list[tuple[float, float]] = []
    lag = LoopLag(lambda lag_s, due: samples.append((lag_s, due)))
    lag.start()
    block(0.45)
    await asyncio.sleep(0.01)
    lag.stop()
    lag.stop()
    assert sum(lag.histogram.counts) == 1
    assert lag.histogram.total_ns > 100_000_000
    (first_lag, first_due), (second_lag, second_due) = samples
    assert first_lag == 0
    assert second_lag == lag.histogram.total_ns / 1e9
    assert second_due > first_due

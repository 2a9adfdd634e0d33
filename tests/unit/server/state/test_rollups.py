"""The rows of a minute are recorded in batches, at the end of the minute and at shutdown."""

import asyncio

from routebook.events import HeartbeatMinute
from routebook.handlers.meter import Meter
from routebook.journal.record import Record
from routebook.model import BrokerKey
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder
from routebook.server.state.rollups import Rollups
from tests.support.in_process_server import until


class Bench:
    """A meter, and a wall clock that the test sets, first to the end of a minute."""

    def __init__(self) -> None:
        self.wall_ms = 119_990
        self.meter = Meter(max_keys=10)
        self.feed: list[Record] = []
        event_log = EventLog(lambda: 0.0)
        recorder = Recorder(event_log=event_log, ns="n", boot="b", publish=self.feed.append)
        self.rollups = Rollups(self.meter, recorder, wall_ms=lambda: self.wall_ms)

    def beat(self, brokers: int) -> None:
        for n in range(brokers):
            self.meter.beat(BrokerKey("C", f"{n}:1"), f"b{n}", 0)

    @property
    def rows(self) -> list[HeartbeatMinute]:
        return [record.event for record in self.feed if isinstance(record.event, HeartbeatMinute)]


def test_rows_are_recorded_when_the_minute_ends() -> None:
    async def play() -> Bench:
        bench = Bench()
        bench.rollups.start()
        bench.beat(250)
        bench.wall_ms = 120_001
        await until(lambda: len(bench.rows) == 250, "the minute to end")
        bench.beat(1)
        bench.rollups.stop()
        return bench

    bench = asyncio.run(play())
    assert {row.minute_ms for row in bench.rows[:250]} == {60_000}
    (last,) = bench.rows[250:]
    assert (last.minute_ms, last.addr) == (120_000, "0:1")


def test_stop_records_the_remaining_rows() -> None:
    async def play() -> Bench:
        bench = Bench()
        bench.rollups.start()
        bench.beat(250)
        bench.rollups.stop()
        return bench

    assert len(asyncio.run(play()).rows) == 250


def test_a_failure_does_not_end_the_rollups() -> None:
    async def play() -> Bench:
        bench = Bench()
        take = bench.meter.take
        failed = False

        def broken(minute_ms: int) -> object:
            nonlocal failed
            if not failed:
                failed = True
                raise ValueError("injected")
            return take(minute_ms)

        bench.rollups._meter = type("Broken", (), {"take": staticmethod(broken)})()
        bench.rollups.start()
        bench.beat(1)
        await until(
            lambda: len(bench.rows) == 1, "the next minute"
        )  # the wall clock stands still, so a minute ends every 10 ms
        bench.rollups.stop()
        return bench

    assert len(asyncio.run(play()).rows) == 1

"""Waiting work runs in slices; hosts take turns; long frames are read within limits."""

import asyncio

from routebook.server.net import turns as turns_module
from routebook.server.net.turns import MAX_JOB_BYTES, MAX_READ_BYTES, Turns
from tests.support.asynchronous import asynchronous
from tests.support.in_process_server import until


class FakeJob:
    """Needs some slices."""

    def __init__(self, name: str, slices: int, log: list[str], *, size: int = 1) -> None:
        self._name = name
        self._slices = slices
        self._log = log
        self.size = size

    def run(self, deadline_ns: int) -> bool:
        assert deadline_ns > 0
        self._log.append(self._name)
        self._slices -= 1
        return self._slices == 0


async def done(turns: Turns) -> None:
    await until(lambda: not turns.waiting, "all work is done")


@asynchronous
async def test_a_job_runs_one_slice_per_turn_of_the_loop_and_turns_run_before_it() -> None:
    turns, log = Turns(), list[str]()
    turns.add_job("a", FakeJob("job", 3, log))
    for _ in range(2):
        turns.add_turn("a", lambda: log.append("turn"))
    assert log == []
    await done(turns)
    assert log == ["turn", "turn", "job", "job", "job"]
    assert turns.job_bytes == 0


@asynchronous
async def test_a_turn_that_asks_for_another_one_does_not_keep_the_loop() -> None:
    turns, log = Turns(), list[str]()

    def greedy() -> None:
        log.append("greedy")
        if log.count("greedy") < 5:
            turns.add_turn("a", greedy)

    turns.add_turn("a", greedy)
    turns.add_job("b", FakeJob("job", 2, log))
    await done(turns)
    assert log[:4] == ["greedy", "job", "greedy", "job"]


@asynchronous
async def test_a_job_that_fails_is_dropped() -> None:
    turns, log = Turns(), list[str]()
    errors = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: errors.append(context["exception"]))

    class Failing(FakeJob):
        def run(self, deadline_ns: int) -> bool:
            raise ValueError("a bug")

    turns.add_job("a", Failing("x", 1, log))
    turns.add_job("a", FakeJob("job", 1, log))
    await done(turns)
    assert log == ["job"]
    assert [type(error) for error in errors] == [ValueError]
    assert turns.job_bytes == 0


@asynchronous
async def test_long_frames_are_read_within_a_limit_per_turn_of_the_loop() -> None:
    turns, resumed = Turns(), list[int]()
    assert not turns.has_read(MAX_READ_BYTES)
    assert turns.has_read(1)
    for number in range(20):
        turns.add_reader("a", lambda number=number: resumed.append(number))  # type: ignore[misc]
    await asyncio.sleep(0)
    assert len(resumed) == turns_module._MAX_RESUMED
    await done(turns)
    assert resumed == list(range(20))
    assert not turns.has_read(1)
    await done(turns)


@asynchronous
async def test_while_many_jobs_wait_no_further_long_frames_are_read() -> None:
    turns, log, resumed = Turns(), list[str](), list[int]()
    turns.add_job("a", FakeJob("job", 50, log, size=MAX_JOB_BYTES + 1))
    assert turns.has_read(1)
    turns.add_reader("a", lambda: resumed.append(len(log)))
    await done(turns)
    assert resumed == [50]

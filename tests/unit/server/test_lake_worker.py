"""The lake process beside a NameServer: restarts, shutdown, and failures reported in health."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from routebook.lake.status import State, read_status
from routebook.server.lake_worker import LakeWorker
from routebook.server.observe.health import Condition
from routebook.server.state.lake_status import lake_probe

TIMEOUT_S = 30.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.fixture
def workers() -> Iterator[list[LakeWorker]]:
    made: list[LakeWorker] = []
    yield made
    for one in made:
        one.stop()


def test_a_failed_process_is_restarted_and_reported(tmp_path: Path, workers: list[LakeWorker]) -> None:
    worker = LakeWorker(script("import sys; sys.exit('routebook: no Java here')"), tmp_path, min_backoff_s=0.01)
    workers.append(worker)
    worker.start()
    until(lambda: worker.restarts >= 2)
    until(lambda: lake_probe(tmp_path)().condition is Condition.DEGRADED)
    part = lake_probe(tmp_path)()
    assert "no Java here" in part.says
    assert part.facts["state"] == "failed"


def test_stop_terminates_the_process(tmp_path: Path, workers: list[LakeWorker]) -> None:
    mark = tmp_path / "mark"
    text = f"""
import pathlib, signal, sys, time
def end(*_):
    pathlib.Path({str(mark)!r}).write_text("ended")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path({str(mark)!r}).write_text("runs")
while True:
    time.sleep(1)
"""
    worker = LakeWorker(script(text), tmp_path / "lake")
    workers.append(worker)
    worker.start()
    until(lambda: mark.exists() and mark.read_text() == "runs")
    worker.stop()
    assert mark.read_text() == "ended"
    status = read_status(tmp_path / "lake")
    assert status is not None
    assert status.state is State.STOPPED
    assert worker.restarts == 0


def test_a_command_that_does_not_exist_is_reported(tmp_path: Path, workers: list[LakeWorker]) -> None:
    worker = LakeWorker([str(tmp_path / "nothing")], tmp_path, min_backoff_s=0.01)
    workers.append(worker)
    worker.start()
    until(lambda: "cannot start the lake process" in lake_probe(tmp_path)().says)


def test_a_missing_dependency_is_reported_without_restarts(tmp_path: Path, workers: list[LakeWorker]) -> None:
    worker = LakeWorker(script("1/0"), tmp_path, missing="the lake needs pyspark")
    workers.append(worker)
    worker.start()
    until(lambda: "the lake needs pyspark" in lake_probe(tmp_path)().says)
    assert worker.restarts == 0


def test_no_process_starts_before_the_server_is_ready(tmp_path: Path, workers: list[LakeWorker]) -> None:
    worker = LakeWorker(script(f"open({str(tmp_path / 'ran')!r}, 'w')"), tmp_path / "lake", ready=lambda: False)
    workers.append(worker)
    worker.start()
    worker.stop()
    assert not (tmp_path / "ran").exists()
    assert read_status(tmp_path / "lake") is None

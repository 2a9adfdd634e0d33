"""The lake's process beside a NameServer: started again when it dies, ended in order, its failures told in health."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from routebook.lake.status import State, Status, read_status, write_status
from routebook.server.lake_worker import LakeWorker
from routebook.server.observe.health import Condition
from routebook.server.state.lake_status import lake_probe

PATIENCE_S = 30.0


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.fixture
def followers() -> Iterator[list[LakeWorker]]:
    made: list[LakeWorker] = []
    yield made
    for one in made:
        one.stop()


def test_one_that_dies_is_started_again_and_told_of(tmp_path: Path, followers: list[LakeWorker]) -> None:
    follower = LakeWorker(script("import sys; sys.exit('routebook: no Java here')"), tmp_path, min_backoff_s=0.01)
    followers.append(follower)
    follower.start()
    until(lambda: follower.restarts >= 2)
    until(lambda: lake_probe(tmp_path)().condition is Condition.DEGRADED)
    part = lake_probe(tmp_path)()
    assert "no Java here" in part.says
    assert part.facts["state"] == "failed"


def test_it_is_ended_in_order(tmp_path: Path, followers: list[LakeWorker]) -> None:
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
    follower = LakeWorker(script(text), tmp_path / "lake")
    followers.append(follower)
    follower.start()
    until(lambda: mark.exists() and mark.read_text() == "runs")
    follower.stop()
    assert mark.read_text() == "ended"
    status = read_status(tmp_path / "lake")
    assert status is not None
    assert status.state is State.STOPPED
    assert follower.restarts == 0


def test_what_cannot_start_at_all_is_told(tmp_path: Path, followers: list[LakeWorker]) -> None:
    follower = LakeWorker([str(tmp_path / "nothing")], tmp_path, min_backoff_s=0.01)
    followers.append(follower)
    follower.start()
    until(lambda: "cannot start the lake process" in lake_probe(tmp_path)().says)


def test_what_is_missing_is_told_once(tmp_path: Path, followers: list[LakeWorker]) -> None:
    follower = LakeWorker(script("1/0"), tmp_path, missing="the lake needs pyspark")
    followers.append(follower)
    follower.start()
    until(lambda: "the lake needs pyspark" in lake_probe(tmp_path)().says)
    assert follower.restarts == 0


def test_nobody_follows_before_the_server_is_ready(tmp_path: Path, followers: list[LakeWorker]) -> None:
    follower = LakeWorker(script(f"open({str(tmp_path / 'ran')!r}, 'w')"), tmp_path / "lake", ready=lambda: False)
    followers.append(follower)
    follower.start()
    follower.stop()
    assert not (tmp_path / "ran").exists()
    assert read_status(tmp_path / "lake") is None


def test_health_where_nobody_follows(tmp_path: Path) -> None:
    part = lake_probe(tmp_path)()
    assert (part.condition, part.facts) == (Condition.OK, {"state": "none"})


def test_health_of_one_that_follows_and_of_one_that_is_gone(tmp_path: Path) -> None:
    import os
    import subprocess

    write_status(tmp_path, Status(state=State.FOLLOWING, at_ms=1, pid=os.getpid(), build_id="b", events=7))
    part = lake_probe(tmp_path)()
    assert (part.condition, part.facts["state"], part.facts["events"]) == (Condition.OK, "following", 7)
    ended = subprocess.Popen(script(""))
    ended.send_signal(signal.SIGKILL)
    ended.wait()
    write_status(tmp_path, Status(state=State.FOLLOWING, at_ms=1, pid=ended.pid))
    assert lake_probe(tmp_path)().facts["state"] == "stopped"


def test_half_a_status_is_no_status(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text('{"state":')
    assert read_status(tmp_path) is None

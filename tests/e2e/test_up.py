"""`routebook up`: the NameServer serves independently of the lake process; both end together."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.support.process import Process

TIMEOUT_S = 120.0


def started(home: Path, *arguments: str) -> Process:
    return Process("up", "--home", str(home), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *arguments)


def lake_part(url: str, wanted: str) -> dict[str, object]:
    """The health component `lake`, as soon as it is in state `wanted`."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        part: dict[str, dict[str, object]] = httpx.get(f"{url}/v1/health").json()["parts"]["lake"]
        if part["facts"]["state"] == wanted:
            return dict(part)
        assert time.monotonic() < deadline, part
        time.sleep(0.1)


@pytest.mark.slow
def test_a_failed_lake_does_not_affect_the_nameserver(tmp_path: Path) -> None:
    process = started(tmp_path, "--master", "no-such-scheme://x")
    try:
        process.wait_until_listening()
        url = process.wait_until_http()
        assert httpx.get(f"{url}/readyz").status_code == 200
        part = lake_part(url, "failed")
        assert part["condition"] == "degraded"
        assert "the lake is not updated" in str(part["says"])
        process.wait_for_log("the lake is not updated; the NameServer is not affected")
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert process.stop() == 0
    finally:
        process.kill()
    assert process.log.count("the lake is not updated") == 1


def test_no_lake_runs_the_nameserver_only(tmp_path: Path) -> None:
    process = started(tmp_path, "--no-lake")
    try:
        process.wait_until_listening()
        assert httpx.get(f"{process.wait_until_http()}/v1/health").json()["parts"]["lake"]["facts"]["state"] == "none"
        assert process.stop() == 0
    finally:
        process.kill()
    assert not (tmp_path / "lake").exists()


def test_up_accepts_the_options_of_serve(tmp_path: Path) -> None:
    process = Process("up", "--home", str(tmp_path), "-p")
    assert process.wait() == 0
    assert "listenPort=9876" in process.out
    wrong = Process("up", "--home", str(tmp_path), "--no-such-option")
    assert wrong.wait() == 2
    assert "--no-such-option" in wrong.log


@pytest.mark.slow
def test_the_lake_ends_when_the_nameserver_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path)
    try:
        process.wait_until_listening()
        lake = _child(process.pid)
    finally:
        process.send(signal.SIGKILL)
        process.kill()
    deadline = time.monotonic() + TIMEOUT_S
    while _is_alive(lake):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _child(pid: int) -> int:
    """The first child of a process, as soon as it has one."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
            if found := tasks.read_text().split():
                return int(found[0])
        time.sleep(0.05)
    raise AssertionError("no child")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"

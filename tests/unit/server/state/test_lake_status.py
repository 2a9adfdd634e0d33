"""The health component of the lake, read from its status file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from routebook.lake.status import State, Status, read_status, write_status
from routebook.server.observe.health import Condition
from routebook.server.state.lake_status import lake_probe


def test_without_a_lake_process_health_is_ok(tmp_path: Path) -> None:
    part = lake_probe(tmp_path)()
    assert (part.condition, part.facts) == (Condition.OK, {"state": "none"})


def test_a_running_and_an_ended_lake_process(tmp_path: Path) -> None:
    write_status(tmp_path, Status(state=State.FOLLOWING, at_ms=1, pid=os.getpid(), build_id="b", events=7))
    part = lake_probe(tmp_path)()
    assert (part.condition, part.facts["state"], part.facts["events"]) == (Condition.OK, "following", 7)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.send_signal(signal.SIGKILL)
    ended.wait()
    write_status(tmp_path, Status(state=State.FOLLOWING, at_ms=1, pid=ended.pid))
    assert lake_probe(tmp_path)().facts["state"] == "stopped"


def test_a_truncated_status_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text('{"state":')
    assert read_status(tmp_path) is None

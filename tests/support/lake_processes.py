"""Runs `routebook lake` as a process, and reads a lake without Spark."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from routebook.lake.read.open import open_lake

LIMIT_S = 900.0  # generous: the machine can be busy
TABLES = ("gold.broker_sessions", "gold.route_timeline", "gold.lookup_demand", "silver.observed", "meta.holes")


def start(*args: str) -> subprocess.Popen[str]:
    """Start `routebook lake …` in its own process group, which includes Spark."""
    command = [sys.executable, "-m", "routebook", "lake", *args, "--master", "local[2]"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=dict(os.environ)
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    return out


def wait_for(process: subprocess.Popen[str], ready: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not ready() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill the process group, as in a power failure."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)


def commits(lake: Path) -> int:
    return sum(1 for _ in lake.glob("warehouse/*/*/metadata/*.metadata.json"))


def contents(lake: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The published rows of some tables."""
    queries = {path: f"SELECT * FROM {path}" for path in TABLES}
    opened = open_lake(lake)
    rows = {}
    for name, sql in (queries | {"events": "SELECT ns, seq, kind, at FROM bronze.events"}).items():
        with opened.cursor(sql, build=opened.build(None)) as cursor:
            rows[name] = sorted((row for batch in cursor.batches() for row in batch), key=repr)
    return rows

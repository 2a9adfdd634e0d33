"""kill -9 during KV writes: the file is always complete and contains every acknowledged write."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from routebook.server.state.atomic_file import backup_of
from routebook.server.state.startup_files import load_kv
from tests.support.process import serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, get_kv, put_kv

MIN_INTERRUPTED = 15  # kills in the middle of a write
SERVER_KILLS = 8


def test_a_killed_writer_leaves_a_complete_file(
    tmp_path: Path, pytestconfig: pytest.Config, reliability_report: ReliabilityReport
) -> None:
    min_kills: int = pytestconfig.getoption("--kv-kills")
    path = tmp_path / "kvConfig.json"
    chance = random.Random(20)
    acknowledged = interrupted = writes = 0
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.kv_writer_process", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        for kills in itertools.count():
            if kills >= min_kills and interrupted >= MIN_INTERRUPTED and acknowledged >= MIN_INTERRUPTED:
                break
            parent.stdin.write("\n")
            parent.stdin.flush()
            pid = int(parent.stdout.readline())
            time.sleep(chance.uniform(0, 0.02))
            os.kill(pid, signal.SIGKILL)
            while (line := parent.stdout.readline()) != "dead\n":
                acknowledged = int(line)
                writes += 1
            interrupted += any(tmp_path.glob(".*.tmp"))
            number = int(load_kv(path).get("n", "number") or 0)
            assert number in {acknowledged, acknowledged + 1}, "an acknowledged write is missing"
            acknowledged = number
            if backup_of(path).exists():
                load_kv(backup_of(path))
        parent.stdin.close()
    figures = {"kills": kills, "interrupted": interrupted, "writes": writes, "lost": 0}
    reliability_report.add("kills", "kill -9 of a KV writer", **figures)


def test_a_killed_server_restarts_with_every_acknowledged_entry(tmp_path: Path) -> None:
    chance = random.Random(21)
    acknowledged = 0
    for _ in range(SERVER_KILLS):
        with serving(tmp_path) as ns, Client(ns.address) as client:
            if acknowledged:
                assert int(client.ask(get_kv("number")).ext["value"]) >= acknowledged
            killer = threading.Timer(chance.uniform(0.01, 0.15), ns.kill)
            killer.start()
            number = acknowledged
            while True:
                number += 1
                client.send(put_kv("number", str(number)).encode())
                if client.receive() is None:
                    break
                acknowledged = number
            killer.join()
    assert acknowledged > SERVER_KILLS

"""Builds as processes: killed and repeated, and `follow` with a growing journal."""

import os
import random
import signal
from pathlib import Path

import pytest

from routebook.fleet.scenario import load_scenario
from routebook.fleet.virtual.simulation import Simulation
from tests.support.lake import AT_MS, line, numbered, write_open
from tests.support.lake_processes import LIMIT_S, commits, contents, finish, kill, start, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.lake_long]


def test_a_build_killed_several_times_gives_the_same_tables(tmp_path: Path) -> None:
    out = tmp_path / "fleet"
    scenario = load_scenario("eventful-days").sized(brokers=4, topics=6, clients=3)
    Simulation(scenario, days=0.5, seed=7, nameservers=2, start_ms=AT_MS, out=out).run()
    journals = [item for ns in ("ns-1", "ns-2") for item in ("--journal", str(out / ns))]
    finish(start("build", *journals, "--lake", str(tmp_path / "whole")))
    expected = contents(tmp_path / "whole")
    last = commits(tmp_path / "whole")

    lake = tmp_path / "lake"
    for point in sorted(random.Random(6).sample(range(2, last), 3)):
        process = start("build", *journals, "--lake", str(lake))
        wait_for(process, lambda enough=point: commits(lake) >= enough)  # type: ignore[misc]  # a default, bound now
        kill(process)
    finish(start("build", *journals, "--lake", str(lake)))
    assert contents(lake) == expected


def test_follow_reads_new_events_and_stops_cleanly(tmp_path: Path) -> None:
    journal, lake = tmp_path / "journal", tmp_path / "lake"
    write_open(journal, 1, [line("n", 1, "server_started", version="1", listen="a:1"), *numbered("n", [2, 3])])
    process = start("follow", "--journal", str(journal), "--lake", str(lake), "--every", "0.1", "--json")
    assert process.stdout is not None
    try:
        assert '"events":3' in process.stdout.readline()
        write_open(journal, 1, [line("n", 1, "server_started", version="1", listen="a:1"), *numbered("n", range(2, 6))])
        assert '"events":2' in process.stdout.readline()
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, errors) == (0, "")
    finally:
        if process.poll() is None:
            kill(process)
    assert sorted(row[1] for row in contents(lake)["events"]) == [1, 2, 3, 4, 5]

"""`routebook controller elections`, and `routebook controller` without a command."""

import json
from pathlib import Path

from tests.support.command_line import routebook
from tests.support.controller_journals import write_failover
from tests.support.small_journals import STARTED, Journal


def test_elections_with_their_causes_newest_first(tmp_path: Path) -> None:
    write_failover(Journal(tmp_path))
    ran = routebook("controller", "elections", "--home", str(tmp_path))
    assert ran.code == 0
    rows = [line.split()[2:] for line in ran.out.splitlines()[1:]]
    assert rows == [
        ["a", "4", "-", "2", "broker", "-"],
        ["a", "3", "2", "none", "expired", "-"],
        ["a", "2", "1", "2", "closed", "0.2", "s"],
        ["a", "1", "-", "1", "first", "-"],
    ]
    short = routebook("controller", "elections", "a", "--limit", "1", "--json", "--home", str(tmp_path))
    document = json.loads(short.out)
    assert (len(document["elections"]), document["more"]) == (1, True)


def test_no_election(tmp_path: Path) -> None:
    Journal(tmp_path).write(0, STARTED)
    ran = routebook("controller", "elections", "a", "--home", str(tmp_path))
    assert ran.code == 1
    assert "no election is recorded of a" in ran.err


def test_without_a_file_or_a_command_the_error_names_both() -> None:
    ran = routebook("controller")
    assert ran.code == 2
    assert (
        "pass -c FILE to run a Controller, or one of its commands: sets, elections, elect, clean, import, export"
        in ran.err
    )

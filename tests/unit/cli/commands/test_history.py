"""`routebook history`: from a home folder, and from a server's HTTP port."""

import json
from pathlib import Path

import pytest

from routebook.events import JournalHole, PermissionWiped, ServerStopped
from tests.support.command_line import CommandResult, routebook
from tests.support.free_ports import free_port
from tests.support.small_journals import STARTED, Journal, added, down, gone, up


@pytest.fixture
def home(tmp_path: Path) -> Path:
    journal = Journal(tmp_path)
    journal.write(0, STARTED, up(), added("T", "U"))
    journal.write(5, PermissionWiped(broker="a", topics=2, peer="10.0.0.8:5"))
    journal.write(9, down(), gone("T", "U"))
    journal.write(10, ServerStopped(reason="SIGTERM"))
    return tmp_path


def history(*args: str, home: Path) -> CommandResult:
    return routebook("history", *args, "--home", str(home))


def test_a_timeline_as_a_table(home: Path) -> None:
    ran = history("T", home=home)
    assert ran.code == 0
    heading, *rows = ran.out.splitlines()
    assert heading.split() == ["FROM", "TO", "BROKERS", "READ", "WRITE", "CHANGE", "CAUSE"]
    assert len(rows) == 3
    assert rows[0].split()[:3] == ["2024-11-15", "19:46:49.000Z", "now"]
    assert rows[0].endswith("broker down (expired)")
    assert "a removed" in rows[0]
    assert rows[1].endswith("permission wiped by 10.0.0.8:5")
    assert "a perm" in rows[1]
    assert "a added" in rows[2]
    assert ran.err == ""


def test_a_timeline_as_json(home: Path) -> None:
    ran = history("T", "--limit", "2", "--json", home=home)
    document = json.loads(ran.out)
    assert (ran.code, document["topic"], document["more"]) == (0, "T", True)
    assert [version["cause"]["kind"] for version in document["versions"]] == ["broker_down", "permission_wiped"]


def test_since_selects_later_versions(home: Path) -> None:
    document = json.loads(history("T", "--since", "2024-11-15T19:46:47Z", "--json", home=home).out)
    assert [version["cause"]["kind"] for version in document["versions"]] == ["broker_down", "permission_wiped"]


def test_a_route_at_a_time(home: Path) -> None:
    ran = history("T", "--at", "2024-11-15T19:46:41Z", home=home)
    assert ran.code == 0
    assert ran.err == ""
    table, validity, cause = ran.out.splitlines()[1:]
    assert table.split() == ["a", "C", "RW-", "8", "8", "0=h:1"]
    assert validity == "valid from 2024-11-15 19:46:40.000Z to 2024-11-15 19:46:45.000Z"
    assert cause == "cause: broker up, record 2"


def test_a_route_at_a_time_as_json(home: Path) -> None:
    document = json.loads(history("T", "--at", "1731700005000", "--json", home=home).out)
    assert [queue["perm"] for queue in document["route"]["queues"]] == [4]
    assert document["past"]["cause"]["kind"] == "permission_wiped"


def test_no_route_is_exit_code_1(home: Path) -> None:
    ran = history("T", "--at", "1731700009500", home=home)
    assert ran.code == 1
    assert ran.out.startswith("T had no route at 2024-11-15 19:46:49.500Z\nno route from")
    ran = history("X", home=home)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing is recorded" in ran.err


def test_a_time_before_the_first_record(home: Path) -> None:
    ran = history("T", "--at", "2020-01-01", home=home)
    assert (ran.code, ran.out) == (1, "")
    assert "the first record is of 2024-11-15 19:46:40.000Z" in ran.err


def test_a_time_after_the_last_record_is_not_observed(home: Path) -> None:
    ran = history("T", "--at", "2030-01-01", home=home)
    assert "the journal ends at 2024-11-15 19:46:50.000Z" in ran.err


def test_lost_records_are_reported(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 3
    journal.write(1, JournalHole(first_missing=4, last_missing=6, count=3, why="disk full"))
    assert "events may be missing: records 4 to 6, disk full" in history("T", home=tmp_path).err


@pytest.mark.parametrize(
    "args",
    [
        ("T", "--at", "soon"),
        ("T", "--at", "1", "--since", "1"),
        ("T", "--limit", "0"),
        ("T", "--http", "ftp://h"),
        ("T", "--http", "http://h:1", "--home", "/"),
    ],
)
def test_usage_errors(args: tuple[str, ...]) -> None:
    ran = routebook("history", *args)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1


def test_a_home_without_a_journal(tmp_path: Path) -> None:
    ran = history("T", home=tmp_path)
    assert ran.code == 1
    assert "the journal is empty" in ran.err


def test_an_unreachable_server() -> None:
    port = free_port()
    ran = routebook("history", "T", "--http", f"127.0.0.1:{port}")
    assert ran.code == 3
    assert ran.err.startswith(f"routebook: http://127.0.0.1:{port}: cannot be reached")

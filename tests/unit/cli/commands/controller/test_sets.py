"""`routebook controller sets`: from a home folder, for all sets and for one, now and at a time."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import CommandResult, routebook
from tests.support.controller_journals import leads, write_failover
from tests.support.small_journals import BORN, Journal


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_failover(Journal(tmp_path))
    return tmp_path


def sets(home: Path, *args: str) -> CommandResult:
    return routebook("controller", "sets", *args, "--home", str(home))


def test_all_sets_at_a_time(home: Path) -> None:
    ran = sets(home, "--at", str(BORN + 30_000))
    assert ran.code == 0
    heading, row = ran.out.splitlines()
    assert heading.split()[:5] == ["SET", "CLUSTER", "MASTER", "ADDRESS", "EPOCH"]
    assert row.split() == ["a", "C", "1", "h:1", "1", "1", "2", "-"]


def test_one_set_says_since_when_and_why(home: Path) -> None:
    ran = sets(home, "a", "--at", str(BORN + 61_000))
    assert ran.code == 0
    assert "replica 2 is master from 2024-11-15 19:47:40.200Z to 2024-11-15 19:48:50.000Z" in ran.out
    assert "cause: master elected (closed), record 7" in ran.out
    assert "before: replica 1 at h:1, last seen 2024-11-15 19:47:40.000" in ran.out
    assert "candidate 2: alive, epoch 1, offset 512" in ran.out


def test_a_set_without_master_and_the_end_of_the_journal(home: Path) -> None:
    assert "no master from" in sets(home, "a", "--at", str(BORN + 140_000)).out
    now = sets(home, "a", "--at", str(BORN + 900_000))
    assert "replica 2 is master" in now.out
    assert "the journal ends at" in now.err
    assert "replica 2 is master" in sets(home, "a").out


def test_json_and_unknown_names(home: Path) -> None:
    document = json.loads(sets(home, "a", "--at", str(BORN + 30_000), "--json").out)
    assert (document["set"]["master_id"], document["led"]) == (1, True)
    assert sets(home, "x").code == 1
    before = sets(home, "a", "--at", str(BORN - 1))
    assert (before.code, before.out) == (1, "")
    assert "the first record is of 2024-11-15 19:46:40.000" in before.err


def test_a_node_that_did_not_lead_is_no_witness(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write_failover(journal)
    journal.write(300, leads(leads=False))
    journal.write(400, leads("a"))
    assert "this node did not lead" in sets(tmp_path, "a", "--at", str(BORN + 350_000)).err

"""`routebook journal`: output and exit codes."""

import json
from pathlib import Path

import pytest

from routebook.events import Event, ServerStopped
from routebook.journal.chain import link_of, without_link
from routebook.journal.files import FolderFiles
from routebook.journal.record import RecordEncoder
from routebook.journal.segments import open_name
from routebook.journal.write.audit import chain_at_end
from routebook.journal.write.backlog import Pending
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.rolling import roll_segment
from routebook.times import format_time
from tests.support.command_line import CommandResult, routebook
from tests.support.journal_events import EVERY_KIND

START_MS = 1_731_700_000_000  # 2024-11-15T19:46:40Z
LAST = len(EVERY_KIND)
MISSING = f"records {LAST + 1} to {LAST + 8} missing"
ENCODER = RecordEncoder(ns="n", boot="b")


def write(folder: Path, events: list[Event], *, first: int = 1, roll: bool = False) -> None:
    files = FolderFiles(folder)
    log = OpenSegment(files, options=JournalOptions())
    log.chain = chain_at_end(files)
    at = [START_MS + (first + index) * 1000 for index in range(len(events))]
    log.commit(
        [
            Pending(first + index, at[index], ENCODER.line(event, seq=first + index, at_ms=at[index]))
            for index, event in enumerate(events)
        ],
        now_s=0,
    )
    log.roll()
    if roll:
        roll_segment(files, log.finished[0].name, log.finished[0].span)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a journal of one event of every kind, the first ten rolled."""
    write(tmp_path / "journal", list(EVERY_KIND[:10]), roll=True)
    write(tmp_path / "journal", list(EVERY_KIND[10:]), first=11)
    return tmp_path


def run(*args: object, home: Path | None = None) -> CommandResult:
    environment = None if home is None else {"ROUTEBOOK_HOME": str(home)}
    return routebook("journal", *map(str, args), environment=environment)


def test_tail_shows_the_newest(home: Path) -> None:
    ran = run("tail", "--home", home, "-n", 2)
    assert ran.code == 0
    first, second = ran.out.splitlines()
    assert first.split()[:4] == [*format_time(START_MS + (LAST - 1) * 1000).split(), str(LAST - 1), "controller_leader"]
    assert second.split()[3] == "broker_set_state"


def test_tail_json_prints_the_lines_unchanged(home: Path) -> None:
    ran = run("tail", "--dir", home / "journal", "-n", 99, "--json")
    assert [json.loads(line)["seq"] for line in ran.out.splitlines()] == list(range(1, len(EVERY_KIND) + 1))


def test_tail_filters(home: Path) -> None:
    kinds = [
        json.loads(line)["kind"]
        for line in run("tail", "--home", home, "--topic", "U", "--broker", "a", "--json").out.splitlines()
    ]
    assert kinds == ["topics_changed"]
    assert len(run("tail", "--home", home, "--kind", "broker_up", "--kind", "broker_down").out.splitlines()) == 2


def test_tail_follows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(3))

    def wait() -> bool:
        match next(looks):
            case 0:
                write(home / "journal", [ServerStopped(reason="later"), EVERY_KIND[0]], first=LAST + 9)
                return True
            case _:
                raise KeyboardInterrupt

    monkeypatch.setattr("routebook.cli.commands.journal._wait", wait)
    ran = run("tail", "--home", home, "-n", 1, "-f", "--kind", "server_stopped")
    assert ran.code == 0
    assert [line.split("reason=")[1] for line in ran.out.splitlines()] == ["SIGTERM", "later"]
    assert MISSING in ran.err


def test_terminal_escapes_are_removed(tmp_path: Path) -> None:
    write(tmp_path, [ServerStopped(reason="\x1b[31mred")])
    assert "\x1b" not in run("tail", "--dir", tmp_path).out


def test_verify_a_whole_journal(home: Path) -> None:
    ran = run("verify", "--home", home)
    assert ran.code == 0
    assert ran.out.startswith(f"whole: {len(EVERY_KIND)} records, 1 to {len(EVERY_KIND)}, 2024-11-15 19:46:41")


def test_verify_lists_problems(home: Path) -> None:
    write(home / "journal", [ServerStopped(reason="x")], first=LAST + 9)
    with (home / "journal" / open_name(LAST + 9)).open("ab") as file:
        file.write(b"#\n{")
    ran = run("verify", "--home", home)
    assert ran.code == 1
    damaged, hole, unfinished, verdict = ran.out.splitlines()
    assert damaged.startswith(f"damaged: {open_name(LAST + 9)}, line 2 ")
    assert hole.startswith(f"hole: {MISSING}")
    assert unfinished.startswith("unfinished: ")
    assert verdict.startswith("not whole: ")
    report = json.loads(run("verify", "--home", home, "--json").out)
    assert (report["holes"][0]["first"], report["holes"][0]["last"]) == (LAST + 1, LAST + 8)
    assert report["damage"][0]["line"] == 2


def test_export_of_a_time_range(home: Path) -> None:
    ran = run("export", "--home", home, "--from", "2024-11-15T19:46:45Z", "--to", START_MS + 7_000)
    assert ran.code == 0
    assert [json.loads(line)["seq"] for line in ran.out.splitlines()] == [5, 6, 7]


def test_export_to_a_file_equals_the_journal(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    assert run("export", "--home", home, "--out", out).code == 0
    lines = [ENCODER.line(event, seq=n, at_ms=START_MS + n * 1000) for n, event in enumerate(EVERY_KIND, 1)]
    exported = out.read_bytes().splitlines()
    assert [without_link(line) for line in exported] == [line.rstrip(b"\n") for line in lines]
    assert [n for n, line in enumerate(exported, 1) if link_of(line)] == [1, 11]


def test_export_of_a_damaged_journal_exits_1(home: Path) -> None:
    write(home / "journal", [ServerStopped(reason="x")], first=LAST + 9)
    ran = run("export", "--home", home)
    assert ran.code == 1
    assert len(ran.out.splitlines()) == len(EVERY_KIND) + 1
    assert ran.err.startswith(f"routebook: {MISSING}")


def test_stats(home: Path) -> None:
    ran = run("stats", "--home", home)
    assert ran.code == 0
    (row,) = [line for line in ran.out.splitlines() if "lookup_minute" in line]
    assert row.replace("│", " ").split()[1] == "2"
    counts = json.loads(run("stats", "--home", home, "--json").out)["kinds"]
    assert sum(count["records"] for count in counts.values()) == len(EVERY_KIND)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["tail", "--dir", "/nowhere"], "/nowhere: no such folder"),
        (["verify", "--home", "/a", "--dir", "/b"], "--home and --dir cannot be combined"),
        (["tail", "--home", "HOME", "--kind", "moon"], "--kind moon: use one of broker_changed, "),
        (["export", "--home", "HOME", "--from", "noon"], "--from noon: not a time"),
        (["export", "--home", "HOME", "--format", "xml"], "--format xml: the only format is jsonl"),
        (["export", "--home", "HOME", "--out", "/nowhere/x"], "--out /nowhere/x: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(home: Path, args: list[str], message: str) -> None:
    ran = run(*[home if arg == "HOME" else arg for arg in args])
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"routebook: {message}")
    assert ran.err.count("\n") == 1


def test_the_home_may_come_from_the_environment(home: Path) -> None:
    assert run("verify", home=home).code == 0

"""Tables on narrow terminals: no address and no time is split."""

import pytest

from routebook.cli.commands.topics import brokers_text
from routebook.cli.output import print_table
from tests.support.command_line import Terminal, _environment

ADDRESS = "broker-production-eu-central-1a.example.com:10911"
TIME = "2024-11-16 03:12:00.000Z"


def table(columns: int, headings: list[str], rows: list[list[object]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    with _environment({"COLUMNS": str(columns), "NO_COLOR": "1"}):
        print_table(headings, rows)
    return out.getvalue().replace("\N{NO-BREAK SPACE}", " ").splitlines()


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_addresses_and_times_stay_whole(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[list[object]] = [["b-a", TIME, f"0={ADDRESS} 1={ADDRESS}", "some words that may be wrapped anywhere"]]
    lines = table(columns, ["BROKER", "SINCE", "ADDRESSES", "NOTE"], rows, monkeypatch)
    text = "\n".join(lines)
    assert TIME in text
    assert text.count(f"={ADDRESS}") == 2


def test_a_table_that_cannot_fit_becomes_records(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = table(50, ["BROKER", "ADDRESS"], [["b-a", ADDRESS], ["b-b", ADDRESS]], monkeypatch)
    assert [line.split()[0] for line in lines if line.startswith(("BROKER", "ADDRESS"))] == [
        *("BROKER", "ADDRESS"),
        *("BROKER", "ADDRESS"),
    ]


def test_runs_of_brokers_are_ranges() -> None:
    assert brokers_text(["b-a", "b-b"]) == "b-a, b-b"
    assert brokers_text([f"broker-{number:03}" for number in range(1, 25)]) == "broker-[001-024] (24)"
    assert brokers_text(["b-1", "b-2", "b-4", "b-5"]) == "b-[1-2,4-5] (4)"
    some = [f"b-{number:02}" for number in (1, 2, 3, 5, 7, 8)]
    assert brokers_text(["plain", *some]) == "b-[01-03,05,07-08], plain (7)"
    assert brokers_text(["9" * 5000]) == "9" * 5000
    assert brokers_text(["a-1", "b-01", "b-02", "b-03", "b-04"]) == "a-1, b-[01-04] (5)"

"""Output: tables, JSON and lines, on a terminal and elsewhere."""

import json
import re
from contextlib import redirect_stdout

import pytest

from routebook.cli.output import Colour, error_text, print_json, print_line, print_table
from routebook.client.http import HttpStatusError
from routebook.errors import Denied, TopicNotExist, Unreachable, UsageError
from tests.support.command_line import Captured, Terminal

LONG = "a-name-that-is-longer-than-the-terminal-is-wide-" * 3


def printed(*, terminal: bool = False) -> "redirect_stdout[Captured]":
    return redirect_stdout(Terminal() if terminal else Captured())


def test_a_plain_table_has_columns_and_cuts_nothing() -> None:
    with printed() as out:
        print_table(["NAME", "COUNT"], [["a", 7], [LONG, 12]])
    assert out.getvalue().splitlines() == [
        f"{'NAME':<{len(LONG)}}  COUNT",
        f"{'a':<{len(LONG)}}      7",
        f"{LONG}     12",
    ]


def test_a_table_escapes_control_characters() -> None:
    with printed() as out:
        print_table(["NAME"], [["evil\x1b[2J\nname"]])
    assert out.getvalue() == "NAME\nevil\\x1b[2J\\nname\n"


def test_on_a_terminal_a_long_name_is_folded_into_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with printed(terminal=True) as out:
        print_table(["NAME", "COUNT"], [[LONG, 7], ["[bold]", 1]])
    lines = re.sub(r"\x1b\[\d+m", "", out.getvalue()).splitlines()
    assert max(map(len, lines)) <= 60
    assert "".join(line.split()[0] for line in lines[2:-1]) == LONG
    assert lines[-1].split() == ["[bold]", "1"]


def test_a_very_long_table_is_plain_on_a_terminal_too() -> None:
    with printed(terminal=True) as out:
        print_table(["NAME"], [[f"t{number}"] for number in range(1000)])
    assert out.getvalue().splitlines() == ["NAME", *(f"t{number}" for number in range(1000))]


def test_on_a_terminal_a_line_is_wrapped_between_words_and_names_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with printed(terminal=True) as out:
        print_line(f"error: {'word ' * 10}{LONG}", indent=2, colour=Colour.RED, of=5)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("  \x1b[31merror\x1b[0m: word")
    assert lines[-1].strip() == LONG
    assert all(line.startswith("    ") for line in lines[1:])


def test_json_is_one_document_with_and_without_a_terminal() -> None:
    for terminal in (False, True):
        with printed(terminal=terminal) as out:
            print_json({"a": ["é", None]})
        assert json.loads(out.getvalue()) == {"a": ["é", None]}
        assert (out.getvalue().count("\n") > 1) is terminal


def test_an_error_is_one_line_with_the_address() -> None:
    no = TopicNotExist("No topic route info in name server for the topic: t\nSee https://… for further details.")
    no.address = "h:1"
    assert error_text(no) == "h:1: No topic route info in name server for the topic: t"
    assert error_text(Unreachable("h:1", "refused")) == "h:1: refused"
    assert error_text(UsageError("two\nlines")) == "two lines"


@pytest.mark.parametrize(
    "error",
    [
        Denied("authorization failed: anonymous has no admin_read"),
        HttpStatusError(401, "not logged in (send a header)"),
    ],
)
def test_an_error_for_want_of_keys_names_their_variables(error: Exception) -> None:
    assert error_text(error).endswith("; set ROCKETMQ_ACCESS_KEY and ROCKETMQ_SECRET_KEY to the keys of an identity")
    assert "header" not in error_text(error)

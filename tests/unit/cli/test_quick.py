"""The short cut past typer: what it takes, it takes exactly as typer does."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.cli.app import _CLICK_ERROR, _for_typer
from routebook.cli.nameservers import NameServers
from routebook.cli.output import Json
from routebook.cli.parameters import Argument, Option, call, taken_by
from routebook.cli.quick import parse
from routebook.cli.registry import COMMANDS

Seen = dict[str, Any]


def everything(
    first: Annotated[str, Argument("FIRST", "a text")],
    second: Annotated[int | None, Argument("SECOND", "a number")] = None,
    *,
    servers: NameServers,
    name: Annotated[list[str] | None, Option(("--name",), "several")] = None,
    ratio: Annotated[float, Option(("--ratio",), "a number")] = 1.5,
    verbose: Annotated[bool, Option(("-v", "--verbose"), "a flag")] = False,
    as_json: Json = False,
) -> int:
    """All kinds of parameters."""
    SEEN.append(
        {
            "first": first,
            "second": second,
            "servers": servers,
            "name": name,
            "ratio": ratio,
            "verbose": verbose,
            "as_json": as_json,
        }
    )
    return 0


def many(words: Annotated[list[str], Argument("WORDS", "at least one")], *, as_json: Json = False) -> int:
    """All that is left."""
    SEEN.append({"words": words, "as_json": as_json})
    return 0


SEEN: list[Seen] = []


def by_typer(command: Callable[..., int], args: list[str]) -> Seen | None:
    """What typer makes of it; None where it refuses."""
    import typer

    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(_for_typer(command))
    SEEN.clear()
    try:
        app(args, standalone_mode=False)
    except _CLICK_ERROR:
        return None
    return SEEN[0] if SEEN else None


def by_short_cut(command: Callable[..., int], args: list[str]) -> Seen | None:
    taken = taken_by(command)
    assert taken is not None
    values = parse(taken, args)
    if values is None:
        return None
    SEEN.clear()
    call(command, values)
    return SEEN[0]


LINE = (
    "orders 7 -n a:1 --nameserver --nameserver=b:2;c:3 --name x --name=y --name= --ratio 2.5 --ratio=. --ratio=1e3 -v "
    "--verbose --verbose=1 --json --tls --timeout 0.5 -1 -- --nonsense --rat=3 -vn --help 1_0 ٣"
)
WORDS = st.sampled_from(LINE.split())


@given(st.lists(WORDS, max_size=7))
def test_what_it_takes_it_takes_as_typer_does(args: list[str]) -> None:
    quick = by_short_cut(everything, args)
    if quick is not None:
        assert quick == by_typer(everything, args)


@given(st.lists(st.sampled_from(["a", "b", "--json", "-", "--", "-x", ""]), max_size=5))
def test_a_list_of_arguments(args: list[str]) -> None:
    quick = by_short_cut(many, args)
    if quick is not None:
        assert quick == by_typer(many, args)


@pytest.mark.parametrize(
    "line",
    [
        "orders",
        "orders 7",
        "orders -n a:1;b:2 --json",
        "--json orders --timeout 0.5",
        "orders --name x --name=y",
        "orders -v --ratio=2 --tls --tls-ca ca.pem",
    ],
)
def test_plain_command_lines_are_taken(line: str) -> None:
    quick = by_short_cut(everything, line.split())
    assert quick is not None
    assert quick == by_typer(everything, line.split())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a 1 b",
        "a --nonsense",
        "a --help",
        "a -h",
        "a -n",
        "a --json --json",
        "a --json=1",
        "a --ratio x",
        "a --name -x",
        "a --",
        "a --ratio -1",
    ],
)
def test_the_rest_is_left_to_typer(line: str) -> None:
    assert by_short_cut(everything, line.split()) is None


def test_a_function_that_is_written_for_typer_is_left_to_it() -> None:
    def command(name: str, *, count: int = 1) -> None:
        """Of somebody else."""

    assert taken_by(command) is None


def test_every_command_of_ours_is_declared_in_this_way() -> None:
    ours = {"route", "topics", "brokers", "clusters", "kv", "config", "broker", "topic", "diff", "doctor"}
    for name in ours:
        found = COMMANDS[name].load()
        for command in found.values() if isinstance(found, dict) else [found]:
            assert taken_by(command) is not None
            assert command.__doc__

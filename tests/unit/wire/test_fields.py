"""Typed access to ext fields, as lenient as Java."""

import pytest

from routebook.wire.command import Command
from routebook.wire.fields import bool_field, int_field, long_field


def command(value: str | None) -> Command:
    return Command(code=103, opaque=1, ext={"f": value})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("+1", 1),
        ("-5", -5),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("9" * 5000, None),
        ("0" * 3000 + "1", 1),
        ("\u0663", 3),
        (" 1", None),
        ("1 ", None),
        ("1_0", None),
        ("", None),
        ("x", None),
        ("1.0", None),
        (None, None),
    ],
)
def test_long(text: str | None, value: int | None) -> None:
    assert long_field(command(text), "f") == value


def test_int_is_bounded() -> None:
    assert int_field(command("2147483647"), "f") == 2**31 - 1
    assert int_field(command("2147483648"), "f") is None


@pytest.mark.parametrize(("text", "value"), [("true", True), ("TRUE", True), ("yes", False), ("", False), (None, None)])
def test_bool(text: str | None, value: bool | None) -> None:
    assert bool_field(command(text), "f") is value


def test_missing_map_is_a_missing_field() -> None:
    assert long_field(Command(code=103, opaque=1), "f") is None

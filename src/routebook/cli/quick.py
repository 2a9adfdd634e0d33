"""The short cut past typer, which takes longer to load than a NameServer takes to answer.

It understands plain command lines only (`route orders -n host:9876 --json`), as typer would. Whatever else there is,
help, abbreviations, wrong values, an option twice, it leaves to typer.
"""

from collections.abc import Sequence
from typing import Any

from routebook.cli.parameters import Argument, Option, Taken


def parse(taken: Sequence[Taken], args: Sequence[str]) -> dict[str, Any] | None:
    """The value of each parameter; None where typer must look at it."""
    options = {name: one for one in taken if isinstance(one.spec, Option) for name in one.spec.names}
    values: dict[str, Any] = {}
    places: list[str] = []
    rest = iter(args)
    for arg in rest:
        if not arg.startswith("-"):
            places.append(arg)
            continue
        name, equals, given = arg.partition("=") if arg.startswith("--") else (arg, "", "")
        one = options.get(name)
        if one is None:
            return None
        if one.kind is bool:
            value: Any = None if equals else True
        else:
            value = _value(one, given if equals else next(rest, "-"))
        if value is None or (one.name in values and not one.many):
            return None
        if one.many:
            values.setdefault(one.name, []).append(value)
        else:
            values[one.name] = value
    return _placed(taken, places, values)


def _placed(taken: Sequence[Taken], places: list[str], values: dict[str, Any]) -> dict[str, Any] | None:
    """With the arguments in their places, and defaults for what was not given."""
    for one in taken:
        if isinstance(one.spec, Argument) and places:
            given = places[:] if one.many else places[:1]
            del places[: len(given)]
            converted = [_value(one, text) for text in given]
            if None in converted:
                return None
            values[one.name] = converted if one.many else converted[0]
        elif one.name not in values:
            if one.required:
                return None
            values[one.name] = one.default
    return None if places else values


def _value(one: Taken, text: str) -> Any:
    if text.startswith("-"):
        return None
    if one.kind is str:
        return text
    digits = text.replace(".", "", 1) if one.kind is float else text
    return one.kind(text) if digits.isascii() and digits.isdigit() else None

"""Options that select events: --kind, --broker and --topic."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from routebook.cli.framework import all_of, option
from routebook.errors import UsageError


class Filters(NamedTuple):
    """Events of these kinds, about these brokers and topics; empty selects all."""

    kinds: tuple[str, ...]
    brokers: tuple[str, ...]
    topics: tuple[str, ...]


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command receives them as `filters`."""

    @wraps(function)
    def call(*, kinds: tuple[str, ...], brokers: tuple[str, ...], topics: tuple[str, ...], **values: Any) -> Any:
        from routebook.journal.record import KINDS

        for kind in kinds:
            if kind not in KINDS:
                raise UsageError(f"--kind {kind}: use one of {', '.join(sorted(KINDS))}")
        return function(filters=Filters(kinds, brokers, topics), **values)

    options = (
        option("--kind", "kinds", metavar="KIND", multiple=True, help="Only this kind of event; repeatable."),
        option(
            "--broker",
            "brokers",
            metavar="NAME",
            multiple=True,
            help="Only this broker, by name or address; repeatable.",
        ),
        option("--topic", "topics", metavar="NAME", multiple=True, help="Only this topic; repeatable."),
    )
    return all_of(options, call)

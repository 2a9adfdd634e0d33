"""Options that select events: --kind, --broker and --topic."""

import msgspec

from routebook.cli.framework import option, options_as
from routebook.errors import UsageError


class Filters(msgspec.Struct, frozen=True):
    """Events of these kinds, about these brokers and topics; empty selects all."""

    kinds: tuple[str, ...]
    brokers: tuple[str, ...]
    topics: tuple[str, ...]

    def __post_init__(self) -> None:
        from routebook.journal.record import KINDS

        for kind in self.kinds:
            if kind not in KINDS:
                raise UsageError(f"--kind {kind}: use one of {', '.join(sorted(KINDS))}")


_BROKER_HELP = "Only this broker, by name or address; repeatable."

filter_options = options_as(
    Filters,
    "filters",
    (
        option("--kind", "kinds", metavar="KIND", multiple=True, help="Only this kind of event; repeatable."),
        option("--broker", "brokers", metavar="NAME", multiple=True, help=_BROKER_HELP),
        option("--topic", "topics", metavar="NAME", multiple=True, help="Only this topic; repeatable."),
    ),
)

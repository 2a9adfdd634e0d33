"""All commands: under which heading they stand, what they do in a line, and where they are. Nothing is loaded here."""

from importlib import import_module
from typing import Any, Final, NamedTuple


class Entry(NamedTuple):
    """One command. The object at `module:name` is a function, a dict of functions (`kv get`), or a typer app."""

    heading: str
    help: str
    target: str

    @property
    def module(self) -> str:
        return f"routebook.cli.commands.{self.target.partition(':')[0]}"

    def load(self) -> Any:
        """What stands there."""
        return getattr(import_module(self.module), self.target.partition(":")[2])


COMMANDS: Final = {
    "serve": Entry("Serve", "Run a NameServer.", "serve:serve"),
    "up": Entry("Serve", "Run a NameServer, and a lake that follows its journal.", "up:up"),
    "route": Entry("Ask", "Where a topic lives.", "route:route"),
    "topics": Entry("Ask", "Which topics there are.", "topics:topics"),
    "brokers": Entry("Ask", "Which brokers there are.", "brokers:brokers"),
    "clusters": Entry("Ask", "Which clusters there are.", "clusters:clusters"),
    "kv": Entry("Change", "Get, put, delete, list: the NameServers' own key-value store.", "kv:COMMANDS"),
    "config": Entry("Change", "Get and set the NameServers' settings.", "config:COMMANDS"),
    "broker": Entry("Change", "Take a broker out of writing, and back.", "broker:COMMANDS"),
    "topic": Entry("Change", "Delete or register a topic, set its order.", "topic:COMMANDS"),
    "diff": Entry("Compare", "What NameServers disagree about, and who is likely stale.", "diff:diff"),
    "doctor": Entry("Compare", "What is wrong, and what to do about it.", "doctor:doctor"),
    "history": Entry("Past", "What a route was, and when it changed.", "history:history"),
    "watch": Entry("Past", "Routes and brokers as they change.", "watch:watch"),
    "journal": Entry("Past", "Look at what a NameServer remembers.", "journal:app"),
    "fleet": Entry("Fleet", "A make-believe fleet: run it over TCP, or simulate months of it.", "fleet:app"),
    "lake": Entry("Lake", "Journals as tables: build, follow, query, report.", "lake:app"),
}

"""click classes for all commands: options grouped under headings, and groups that import subcommands on demand."""

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

argument = click.argument

_OPTIONS: Final = "Options"


class GroupedOption(click.Option):
    """An option with the heading under which the help lists it."""

    def __init__(self, *args: Any, heading: str = _OPTIONS, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.heading = heading


class Command(click.Command):
    """A command; the help lists its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {_OPTIONS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and not isinstance(param, click.Argument):
                sections.setdefault(getattr(param, "heading", _OPTIONS), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Group(click.Group):
    """A command with subcommands; the help lists them in the order of declaration."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (command.help or "").partition("\n\n")[0]) for name, command in self.commands.items()]
            )


class Entry(NamedTuple):
    """A subcommand that is imported on demand. `target` is `module:name`, relative to the group's package."""

    heading: str
    help: str
    target: str


class LazyGroup(Group):
    """A group that imports the module of a subcommand when it runs; its own help imports none."""

    def __init__(self, *args: Any, package: str, entries: dict[str, Entry], **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.entries = entries
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry.target.partition(":")
        found: click.Command = getattr(import_module(f"{self._package}.{module}"), name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            from routebook.cli.suggestions import mqadmin_hint

            if (hint := mqadmin_hint(error.command_name)) is not None:
                raise click.UsageError(f"No such command {error.command_name!r}. {hint}.", ctx=ctx) from None
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=self.entries, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, self.entries))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.entries.items():
            sections.setdefault(entry.heading, []).append((name.ljust(width), entry.help))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.help) for name, entry in self.entries.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command; its docstring is its help."""
    return click.command(name, cls=Command)


def option(*names: str, heading: str = _OPTIONS, **attrs: Any) -> Callable[[F], F]:
    """Declare an option."""
    return click.option(*names, cls=GroupedOption, heading=heading, **attrs)


def flag(*names: str, heading: str = _OPTIONS, help: str) -> Callable[[F], F]:  # noqa: A002 - click's word
    """Declare an option without a value."""
    return option(*names, heading=heading, help=help, is_flag=True)


def _complete(name: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """A function of the completion module, imported when a shell asks."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        found: list[str] = getattr(import_module("routebook.cli.completion"), name)(ctx, param, incomplete)
        return found

    return complete


def topic_argument(name: str = "topic", **attrs: Any) -> Callable[[F], F]:
    """Declare an argument that is a topic; shells complete it."""
    return argument(name, shell_complete=_complete("complete_topics"), **attrs)


def broker_argument(name: str = "name", **attrs: Any) -> Callable[[F], F]:
    """Declare an argument that is a broker; shells complete it."""
    return argument(name, shell_complete=_complete("complete_brokers"), **attrs)


def all_of(decorators: Sequence[Callable[[F], F]], function: F) -> F:
    """Apply decorators so that the help lists their options in this order."""
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def options_as(kind: type[Any], name: str, options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """Declare options whose values the command receives as one struct, in its parameter `name`."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(**values: Any) -> Any:
            fields = {field: values.pop(field) for field in kind.__struct_fields__}
            return function(**values, **{name: kind(**fields)})

        return all_of(options, cast("F", call))

    return decorate

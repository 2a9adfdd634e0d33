"""The typer app: help, completion, and every command line that the short cut does not take.

Only the command that is wanted is loaded; the others are there by their name and what they do in a line.
"""

import os
import sys
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Final

import typer

from routebook.cli.parameters import Argument, Command, Taken, call, taken_by
from routebook.cli.registry import COMMANDS, Entry

_HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}
_EXIT_USAGE: Final = 2
_EXIT_INTERRUPTED: Final = 130
# typer has carried a click of its own for some time: this finds the root of its errors in either
_CLICK_ERROR: Final[type[Exception]] = typer.BadParameter.__mro__[2]


def run(args: Sequence[str]) -> int:
    """Do what the command line says; the exit code. A wrong one is a line on stderr."""
    wanted = next(iter(args), None) or _word_being_completed()
    incomplete = not args or (len(args) == 1 and _is_group(args[0]))
    app = _app(wanted)
    try:
        code = app([*args, "--help"] if incomplete else args, prog_name="routebook", standalone_mode=False)
    except typer.Abort:
        return _EXIT_INTERRUPTED
    except _CLICK_ERROR as error:
        return _complain(error)
    return _EXIT_USAGE if incomplete else int(code or 0)


def _app(wanted: str | None) -> typer.Typer:
    app = _typer("routebook", "A RocketMQ NameServer that remembers, and the tools around it.", add_completion=True)

    @app.callback(epilog="Exit codes: 0 fine, 1 the answer is no, 2 wrong usage, 3 cannot reach.")
    def routebook(
        version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    ) -> None:
        """A group, also where there is one command; the version is printed before typer is loaded."""

    for name, entry in COMMANDS.items():
        _add(app, name, entry, load=name == wanted)
    return app


def _typer(name: str, text: str, *, add_completion: bool = False) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=text,
        add_completion=add_completion,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings=_HELP_OPTIONS,
    )


def _add(app: typer.Typer, name: str, entry: Entry, *, load: bool) -> None:
    if name in {"serve", "up"}:
        _add_server(app, name, entry)
        return
    target = entry.load() if load else _not_loaded
    if isinstance(target, typer.Typer):
        app.add_typer(target, name=name, help=entry.help, rich_help_panel=entry.heading)
    elif isinstance(target, dict):
        group = _typer(name, entry.help)
        for sub_name, function in target.items():
            group.command(name=sub_name, context_settings=_HELP_OPTIONS)(_for_typer(function))
        group.callback()(_nothing)
        app.add_typer(group, name=name, rich_help_panel=entry.heading)
    else:
        text = None if load else entry.help
        app.command(name=name, help=text, rich_help_panel=entry.heading, context_settings=_HELP_OPTIONS)(
            _for_typer(target)
        )


def _add_server(app: typer.Typer, name: str, entry: Entry) -> None:
    """It has a parser of its own, so that a server does not keep typer for life."""
    as_it_is = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

    @app.command(name=name, help=entry.help, rich_help_panel=entry.heading, context_settings=as_it_is)
    def server_command(context: typer.Context) -> int:
        return int(entry.load()(context.args))


def _for_typer(command: Command) -> Callable[..., Any]:
    """The same command with a signature that typer reads."""
    taken = taken_by(command)
    if taken is None:
        return command  # written for typer

    def with_values(**values: Any) -> int:
        return call(command, {name: values[name] for name in names})

    names = [one.name for one in taken]
    parameters = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=_annotation(one)) for one in taken
    ]
    with_values.__doc__ = command.__doc__
    with_values.__name__ = command.__name__
    with_values.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # inspect looks for it there
    with_values.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_values


def _annotation(one: Taken) -> Any:
    kind = list[one.kind] if one.many else one.kind  # type: ignore[name-defined]  # known when it runs
    if one.optional:
        kind = kind | None
    spec = one.spec
    text = spec.help.replace("[", r"\[")  # rich would take it for a style
    if isinstance(spec, Argument):
        return Annotated[kind, typer.Argument(metavar=spec.metavar, help=text, show_default=False)]
    return Annotated[
        kind,
        typer.Option(*spec.names, metavar=spec.metavar, help=text, rich_help_panel=spec.panel, show_default=False),
    ]


def _not_loaded() -> int:
    raise AssertionError("a command that was not asked for was run")


def _nothing() -> None:
    """Make it a group also while there is one command."""


def _is_group(name: str) -> bool:
    entry = COMMANDS.get(name)
    return entry is not None and entry.target.endswith(":COMMANDS")


def _word_being_completed() -> str | None:
    """When a shell asks for completions, the command line is in the environment."""
    words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()
    return words[1] if len(words) > 1 else None


def _complain(error: Exception) -> int:
    """One line, whatever typer would show; what has more lines is help, and shown as it is."""
    message = str(getattr(error, "message", error))
    shown = error.format_message() if hasattr(error, "format_message") else message
    code: int = getattr(error, "exit_code", _EXIT_USAGE)
    if not shown.strip() or shown.count("\n") > 3:
        print(shown, file=sys.stderr)
        return code
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "routebook"
    print(f"{path}: error: {' '.join(shown.split())} ({path} --help tells more)", file=sys.stderr)
    return code

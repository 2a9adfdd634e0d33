"""The command line: `routebook COMMAND`, one file per command; what a command needs is imported when it runs."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

_EXIT_FAILED: Final = 1
_EXIT_USAGE: Final = 2
_EXIT_UNREACHABLE: Final = 3
_EXIT_INTERRUPTED: Final = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run what the command line says. An expected error is one line on stderr and an exit code."""
    from routebook.errors import RoutebookError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that this terminal cannot show is no reason to stop
    try:
        code = _run(list(sys.argv[1:] if args is None else args))
        sys.stdout.flush()
    except RoutebookError as error:
        return _explain(error)
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except BrokenPipeError:  # `| head`: the reader has seen enough, and nothing is left to say at exit either
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _run(args: list[str]) -> int:
    """Short cuts first: typer brings pydantic with it, 80 ms and 15 MB that nobody should wait for, nor keep."""
    name = next(iter(args), "")
    if name == "--version":
        from routebook import __version__

        print(f"routebook {__version__}")
        return 0
    if name in {"serve", "up"}:
        from routebook.cli.registry import COMMANDS

        return int(COMMANDS[name].load()(args[1:]))
    code = _quickly(name, args[1:])
    if code is not None:
        return code
    from routebook.cli.app import run

    return run(args)


def _quickly(name: str, args: list[str]) -> int | None:
    """Run a command whose arguments are plain; None where typer must look at them."""
    import os

    from routebook.cli.registry import COMMANDS

    if name not in COMMANDS or "_ROUTEBOOK_COMPLETE" in os.environ:
        return None
    entry = COMMANDS[name]
    try:
        command = entry.load()
    except ModuleNotFoundError as error:
        if error.name != entry.module:
            raise
        return None  # not part of this installation: no such command
    if isinstance(command, dict):
        command = command.get(next(iter(args), ""))
        args = args[1:]
    if not callable(command):
        return None
    from routebook.cli.parameters import call, taken_by
    from routebook.cli.quick import parse

    taken = taken_by(command)
    values = None if taken is None else parse(taken, args)
    return None if values is None else call(command, values)


def _explain(error: Exception) -> int:
    from routebook.cli.output import complain, explain
    from routebook.errors import ConnectionFailed, SettingsError, UsageError

    complain(explain(error))
    if isinstance(error, ConnectionFailed):
        return _EXIT_UNREACHABLE
    return _EXIT_USAGE if isinstance(error, SettingsError | UsageError) else _EXIT_FAILED

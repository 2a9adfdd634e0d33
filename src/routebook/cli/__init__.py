"""The command line: `routebook COMMAND`, one file per command, imported when it runs."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

_EXIT_INTERRUPTED: Final = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code. An expected error is one line on stderr."""
    import click

    from routebook.cli.app import run
    from routebook.errors import RoutebookError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may contain characters that the terminal lacks
    try:
        code = run(sys.argv[1:] if args is None else args)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0 if error.ctx.parent is None else error.exit_code
    except click.ClickException as error:
        return _report_usage(error)
    except RoutebookError as error:
        return _report(error)
    except (KeyboardInterrupt, click.Abort):
        return _EXIT_INTERRUPTED
    except BrokenPipeError:  # `| head` closed the pipe; the interpreter must not flush into it at exit
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _report_usage(error: "click.ClickException") -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "routebook"
    text = " ".join(error.format_message().split())
    print(f"{path}: error: {text} Try '{path} --help'.", file=sys.stderr)
    return error.exit_code


def _report(error: Exception) -> int:
    from routebook.cli.output import EXIT_NO, EXIT_UNREACHABLE, EXIT_USAGE, error_text, print_error
    from routebook.errors import ConnectionFailed, SettingsError, UsageError

    print_error(error_text(error))
    if isinstance(error, ConnectionFailed):
        return EXIT_UNREACHABLE
    return EXIT_USAGE if isinstance(error, SettingsError | UsageError) else EXIT_NO

"""The command line: `routebook COMMAND`, one file per command; what a command needs is imported when it runs."""

import sys
from typing import Final

_EXIT_FAILED: Final = 1
_EXIT_USAGE: Final = 2
_EXIT_INTERRUPTED: Final = 130


def main() -> int:
    """Run what the command line says. An expected error is one line on stderr and an exit code."""
    from routebook.errors import RoutebookError, SettingsError

    try:
        return _run(sys.argv[1:])
    except RoutebookError as error:
        from routebook.server.log import escape

        print(f"routebook: {escape(str(error), max_chars=4096)}", file=sys.stderr)
        return _EXIT_USAGE if isinstance(error, SettingsError) else _EXIT_FAILED
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED


def _run(args: list[str]) -> int:
    """Two short cuts: typer brings pydantic with it, 200 ms and 15 MB that a server would keep for life."""
    if args[:1] == ["--version"]:
        from routebook import __version__

        print(f"routebook {__version__}")
        return 0
    if args[:1] == ["serve"]:
        from routebook.cli.serve import serve

        return serve(args[1:])
    _app()
    return 0


def _app() -> None:
    """All commands, parsed by typer; leaves by SystemExit."""
    import typer

    app = typer.Typer(
        name="routebook",
        help="A RocketMQ NameServer that remembers. `routebook --version` prints which.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich takes longer to load than the rest together
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def routebook() -> None:
        """Make this a group also while there is one command."""

    @app.command(
        name="serve",
        help="Run a NameServer.",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def serve_command(context: typer.Context) -> None:
        from routebook.cli.serve import serve

        raise typer.Exit(serve(context.args))

    app()

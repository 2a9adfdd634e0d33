"""Runs `routebook …` in this process and returns its exit code, stdout and stderr."""

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NamedTuple

from routebook.cli import main


class CommandResult(NamedTuple):
    """The result of a command."""

    code: int | str | None
    out: str
    err: str


class Captured(io.TextIOWrapper):
    """A stream in memory, with a binary buffer like stdout."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def getvalue(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


class Terminal(Captured):
    """A stdout that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def routebook(*args: str, environment: Mapping[str, str] | None = None, terminal: bool = False) -> CommandResult:
    """Run one command, with no Routebook variables in its environment except the given ones."""
    out, err = Terminal() if terminal else Captured(), Captured()
    with _environment({"COLUMNS": "100", **(environment or {})}), redirect_stdout(out), redirect_stderr(err):
        try:
            code: int | str | None = main(args)
        except SystemExit as exit_:
            code = exit_.code or 0
    return CommandResult(code, out.getvalue(), err.getvalue())


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    for name in before:
        if name.startswith(("ROUTEBOOK_", "ROCKETMQ_", "NAMESRV_", "_ROUTEBOOK_", "COMP_")):
            del os.environ[name]
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)

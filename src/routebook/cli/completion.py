"""Shell completion for bash, zsh and fish: prints or installs click's completion script, and answers its calls."""

import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import ShellComplete, get_completion_class

from routebook.errors import UsageError

if TYPE_CHECKING:
    from routebook.client.client import NameServerClient

_PROGRAM: Final = "routebook"
_TIMEOUT_S: Final = 1.0  # a shell waits for it
_MAX_NAMES: Final = 500
_VARIABLE: Final = "_ROUTEBOOK_COMPLETE"
_START_FILES: Final = {"bash": "~/.bashrc", "zsh": "~/.zshrc"}
_SCRIPTS: Final = {
    "bash": "~/.bash_completions/routebook.sh",
    "zsh": "~/.zfunc/_routebook",
    "fish": "~/.config/fish/completions/routebook.fish",
}


def complete(root: click.Command, instruction: str) -> int:
    """Do what a completion script asks for: `bash_source` prints it, `bash_complete` lists completions."""
    shell, _, action = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is None or action not in {"source", "complete"}:
        return 1
    completion = kind(root, {}, _PROGRAM, _VARIABLE)
    print(completion.source() if action == "source" else completion.complete())
    return 0


def complete_topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Topics of the NameServer that begin with the text."""
    return _names(ctx, incomplete, lambda client: client.topics())


def complete_brokers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Brokers of the NameServer that begin with the text."""

    async def brokers(client: "NameServerClient") -> Iterable[str]:
        return (await client.cluster_info()).broker_addr_table

    return _names(ctx, incomplete, brokers)


def _names(
    ctx: click.Context, incomplete: str, ask: "Callable[[NameServerClient], Awaitable[Iterable[str]]]"
) -> list[str]:
    """Names from the NameServer of the command line; none if it does not respond at once."""
    import asyncio

    from routebook.cli.nameservers import nameserver_addresses
    from routebook.client.client import NameServerClient
    from routebook.errors import RoutebookError

    async def work() -> Iterable[str]:
        addresses = nameserver_addresses(ctx.params.get("nameserver"))
        async with NameServerClient(addresses, timeout_s=_TIMEOUT_S, connect_timeout_s=_TIMEOUT_S) as client:
            return await ask(client)

    try:
        found = asyncio.run(work())
    except RoutebookError:
        return []
    return sorted(name for name in found if name.startswith(incomplete))[:_MAX_NAMES]


def show_completion(root: click.Command) -> int:
    """Print the script of the current shell."""
    _, completion = _of_current_shell(root)
    print(completion.source())
    return 0


def install_completion(root: click.Command) -> int:
    """Write the script to its usual place; bash and zsh load it from their start file."""
    shell, completion = _of_current_shell(root)
    script = Path(_SCRIPTS[shell]).expanduser()
    try:
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(completion.source())
        if shell in _START_FILES:
            _append_line(Path(_START_FILES[shell]).expanduser(), f"source '{script}'")
    except OSError as error:
        raise UsageError(f"cannot install completion: {error.filename}: {error.strerror}") from None
    print(f"{shell} completion installed in {script}; it takes effect in a new shell")
    return 0


def _of_current_shell(root: click.Command) -> tuple[str, ShellComplete]:
    shell = Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in _SCRIPTS else None
    if kind is None:
        raise UsageError(f"no completion for the shell {shell or '(SHELL is not set)'}: use {', '.join(_SCRIPTS)}")
    return shell, kind(root, {}, _PROGRAM, _VARIABLE)


def _append_line(file: Path, line: str) -> None:
    text = file.read_text() if file.exists() else ""
    if line not in text.splitlines():
        file.write_text(f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{line}\n")

"""The root command: the table of all commands, the version and shell completion."""

import os
from collections.abc import Sequence
from typing import Final

import click

from routebook import __version__
from routebook.cli.framework import Entry, LazyGroup

COMPLETE_VARIABLE: Final = "_ROUTEBOOK_COMPLETE"

COMMANDS: Final = {
    "serve": Entry("Serve", "Run a NameServer.", "serve:serve"),
    "controller": Entry("Serve", "Run a Controller on its own; show sets and elections.", "controller:controller"),
    "up": Entry("Serve", "Run a NameServer and keep a lake up to date with its journal.", "up:up"),
    "demo": Entry("Serve", "Show everything on a simulated fleet.", "demo:demo"),
    "route": Entry("Query", "Show the route of a topic.", "route:route"),
    "topics": Entry("Query", "List topics.", "topics:topics"),
    "brokers": Entry("Query", "List brokers with their members and addresses.", "brokers:brokers"),
    "clusters": Entry("Query", "List clusters and their brokers.", "clusters:clusters"),
    "kv": Entry("Change", "Read and write the key-value store of NameServers.", "kv:kv"),
    "config": Entry("Change", "Read and change the settings of NameServers.", "config:config"),
    "broker": Entry("Change", "Change the write permission of a broker; show its members.", "broker:broker"),
    "topic": Entry("Change", "Delete or register a topic, or set its order.", "topic:topic"),
    "maintenance": Entry("Change", "Check whether a broker can be restarted now.", "maintenance:maintenance"),
    "diff": Entry("Compare", "Compare NameServers and name the one that is likely stale.", "diff:diff"),
    "doctor": Entry("Compare", "Check NameServers and brokers, with advice for each problem.", "doctor:doctor"),
    "why": Entry("History", "Explain why a topic has no route, now or at a past time.", "why:why"),
    "history": Entry("History", "Show past routes of a topic, and when and why they changed.", "history:history"),
    "watch": Entry("History", "Print events of a server as they happen.", "watch:watch"),
    "journal": Entry("History", "Print, verify, fetch and export a journal.", "journal:journal"),
    "fleet": Entry("Fleet", "Run a simulated fleet over TCP, or simulate months of one.", "fleet:fleet"),
    "lake": Entry("Lake", "Build tables from journals, query them and print reports.", "lake:lake"),
}


def _print_version(ctx: click.Context, _param: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        print(f"routebook {__version__}")
        ctx.exit()


def _run_completion(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        from routebook.cli.completion import install_completion, show_completion

        act = install_completion if param.name == "install_completion" else show_completion
        ctx.exit(act(root))


root: Final = LazyGroup(
    "routebook",
    package="routebook.cli.commands",
    entries=COMMANDS,
    help="A RocketMQ NameServer with a journal, and tools for NameServers.",
    epilog="Exit codes: 0 success, 1 negative result, 2 usage error, 3 unreachable, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
            help="Print the version and exit.",
        ),
        click.Option(
            ["--install-completion"], is_flag=True, expose_value=False, is_eager=True, callback=_run_completion,
            help="Install completion for the current shell and exit.",
        ),
        click.Option(
            ["--show-completion"], is_flag=True, expose_value=False, is_eager=True, callback=_run_completion,
            help="Print the completion script of the current shell and exit.",
        ),
    ],
)  # fmt: skip


def run(args: Sequence[str]) -> int:
    """Parse the arguments and run the command; return its exit code. Raises click's usage errors."""
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        from routebook.cli.completion import complete

        return complete(root, instruction)
    try:
        with root.make_context("routebook", list(args)) as ctx:
            return int(root.invoke(ctx) or 0)
    except click.exceptions.Exit as left:
        return left.exit_code

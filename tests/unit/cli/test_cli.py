"""The command line: help, completion, usage errors, and which modules a command imports."""

import os
import re
import subprocess
import sys

import click
import pytest

from routebook.cli.app import COMMANDS, root
from tests.support.command_line import routebook

NOWHERE = "127.0.0.1:1"
HEAVY = {"rich", "pydantic", "argparse", "cryptography", "routebook.server.server", "routebook.wire.fastjson.reader"}


def test_help_is_grouped_and_names_every_command() -> None:
    ran = routebook("--help")
    assert (ran.code, ran.err) == (0, "")
    headings = re.findall(r"^(\w+):$", ran.out, re.MULTILINE)
    assert headings[0] == "Options"
    assert headings[1:] == list(dict.fromkeys(entry.heading for entry in COMMANDS.values()))
    for name, entry in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(entry.help)}", ran.out, re.MULTILINE)
    assert "3 unreachable" in ran.out


def test_headings_of_the_commands() -> None:
    wanted = ["Serve", "Query", "Change", "Compare", "History", "Fleet", "Lake"]
    assert list(dict.fromkeys(entry.heading for entry in COMMANDS.values())) == wanted


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    ran = routebook(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: routebook {name}" in ran.out


def test_help_lists_the_connection_options_under_a_heading() -> None:
    ran = routebook("route", "--help")
    for option in ("--nameserver", "-n", "--timeout", "--tls", "--tls-ca", "--tls-insecure", "--access-key", "--json"):
        assert option in ran.out
    assert "[system CAs]" in ran.out
    assert re.search(r"^Connection:\n  -n, --nameserver LIST  ", ran.out, re.MULTILINE)
    assert "<" not in ran.out


@pytest.mark.parametrize("args", [["kv"], ["broker"]])
def test_without_a_subcommand_the_help_is_printed_and_the_exit_code_is_2(args: list[str]) -> None:
    ran = routebook(*args)
    assert ran.code == 2
    assert "Usage: routebook" in ran.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "rout orders",
            "routebook: error: No such command 'rout'. Did you mean 'route'? Try 'routebook --help'.",
        ),
        ("route", "routebook route: error: Missing argument 'TOPIC'. Try 'routebook route --help'."),
        ("route a --nonsense", "routebook route: error: No such option '--nonsense'."),
        ("route a --timeout x", "routebook route: error: Invalid value for '--timeout': "),
        ("kv gett a b", "routebook kv: error: No such command 'gett'."),
        ("route a b", "routebook route: error: Got unexpected extra argument"),
        ("route a --timeout 0", "routebook: --timeout 0: must be greater than 0"),
        ("route a -n a:b", "routebook: 'a:b' has no valid port"),
        ("route a --access-key x", "routebook: credentials need an access key and a secret key"),
        ("route a --tls-ca /none/such.pem", "routebook: cannot use TLS files (/none/such.pem): No such file"),
        ("diff 127.0.0.1:1", "routebook: diff needs two or more addresses"),
        ("diff 127.0.0.1:1 127.0.0.1:1", "routebook: diff needs two or more addresses"),
        ("config set orderMessageEnable", "routebook: orderMessageEnable: not KEY=VALUE"),
        ("topics --unit --system", "routebook: --system and --unit cannot be combined"),
        ("topic register t --broker b --perm x", "routebook: 'x' is not a permission; use rw, r or w"),
        ("topic register t", "routebook topic register: error: Missing option '--broker'"),
        ("topic order t b-a", "routebook: clients reject this order: the order configuration of topic t is 'b-a'"),
        ("topic order t b-a:1 --delete", "routebook: --delete cannot be combined with an order"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(line: str, message: str) -> None:
    ran = routebook(*line.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(message)
    assert ran.err.count("\n") == 1


def test_an_invalid_variable_is_a_usage_error() -> None:
    ran = routebook("route", "a", environment={"NAMESRV_ADDR": "host:0"})
    assert ran.code == 2
    assert ran.err == "routebook: 'host:0' has no valid port: use a number from 1 to 65535\n"


def test_the_list_of_nameservers_comes_from_the_option_else_the_variable() -> None:
    environment = {"NAMESRV_ADDR": "127.0.0.1:2"}
    assert routebook("topics", "-n", NOWHERE, environment=environment).err.startswith(f"routebook: {NOWHERE}: ")
    assert routebook("topics", environment=environment).err.startswith("routebook: 127.0.0.1:2: ")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("routebook ro", {"route"}),
        ("routebook kv ", {"get", "put", "delete", "list"}),
        ("routebook route --js", {"--json"}),
        ("routebook broker wipe --tls-i", {"--tls-insecure"}),
    ],
)
def test_completion(words: str, wanted: set[str]) -> None:
    environment = {
        "_ROUTEBOOK_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    ran = routebook(environment=environment)
    assert ran.code == 0
    assert {line.partition(",")[2] for line in ran.out.split()} == wanted


def test_the_completion_script() -> None:
    ran = routebook(environment={"_ROUTEBOOK_COMPLETE": "bash_source"})
    assert ran.code == 0
    assert "_ROUTEBOOK_COMPLETE=bash_complete" in ran.out


@pytest.mark.parametrize("line", ["route orders", "kv get a b --json", "brokers -n 127.0.0.1:1", "topics"])
def test_a_command_imports_no_rich_no_pydantic_and_no_server(line: str) -> None:
    """Their import takes longer than a NameServer takes to respond."""
    program = (
        f"import sys\nfrom routebook.cli import main\nprint(main({line.split()}))\n"
        f"print(sorted({HEAVY} & {{*sys.modules}}))"
    )
    environment = {**os.environ, "NAMESRV_ADDR": NOWHERE}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.splitlines() == ["3", "[]"]


def test_help_imports_no_command() -> None:
    program = (
        "import sys\nfrom routebook.cli import main\nmain(['--help'])\n"
        "print(sorted(name for name in sys.modules if name.startswith(('routebook.client', 'routebook.server'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("line", ["serve --help", "up --help"])
def test_the_help_of_the_servers_lists_their_options(line: str) -> None:
    ran = routebook(*line.split())
    for option in ("--listen", "--http", "--home", "--cold", "--configFile", "-D KEY=VALUE", "--log-level"):
        assert option in ran.out
    assert ("--no-lake" in ran.out) is line.startswith("up")


def test_every_subcommand_has_help() -> None:
    context = click.Context(root, info_name="routebook", **root.context_settings)
    for name in COMMANDS:
        command = root.get_command(context, name)
        assert command is not None
        assert command.name == name
        if isinstance(command, click.Group):
            for sub_name in command.list_commands(context):
                sub_command = command.get_command(context, sub_name)
                assert sub_command is not None
                assert sub_command.name == sub_name
                assert sub_command.help
        for param in command.params:
            assert getattr(param, "help", None), f"{name}: {param.name} has no help"

"""The command line as a whole: help, completion, wrong usage, what is loaded, what a reader does."""

import os
import re
import subprocess
import sys

import pytest

from routebook.cli.registry import COMMANDS
from tests.support.command_line import routebook

NOWHERE = "127.0.0.1:1"


def test_help_is_grouped_and_names_every_command() -> None:
    ran = routebook("--help")
    assert (ran.code, ran.err) == (0, "")
    headings = re.findall(r"^╭─ (\w+) ─", ran.out, re.MULTILINE)
    assert headings[0] == "Options"
    assert headings[1:] == list(dict.fromkeys(entry.heading for entry in COMMANDS.values()))
    for name, entry in COMMANDS.items():
        assert re.search(rf"^│ {name} +{re.escape(entry.help)}", ran.out, re.MULTILINE)
    assert "3 cannot reach" in ran.out


def test_the_headings_are_those_of_the_design() -> None:
    wanted = ["Serve", "Ask", "Change", "Compare", "Past", "Fleet", "Lake"]
    assert list(dict.fromkeys(entry.heading for entry in COMMANDS.values())) == wanted


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"serve", "up"}])
def test_every_command_has_help(name: str) -> None:
    ran = routebook(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: routebook {name}" in ran.out


def test_the_help_of_a_command_shows_how_to_connect() -> None:
    ran = routebook("route", "--help")
    for option in ("--nameserver", "-n", "--timeout", "--tls", "--tls-ca", "--tls-insecure", "--access-key", "--json"):
        assert option in ran.out
    assert "(the system's authorities)" in ran.out
    assert re.search(r"How to connect ─+╮\n│ --nameserver", ran.out)


@pytest.mark.parametrize("args", [[], ["kv"], ["broker"]])
def test_nothing_to_do_is_wrong_usage_with_help(args: list[str]) -> None:
    ran = routebook(*args)
    assert ran.code == 2
    assert "Usage: routebook" in ran.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "rout orders",
            "routebook: error: No such command 'rout'. Did you mean 'route'? (routebook --help tells more)",
        ),
        ("route", "routebook route: error: Missing argument 'TOPIC'. (routebook route --help tells more)"),
        ("route a --nonsense", "routebook route: error: No such option: --nonsense"),
        ("route a --timeout x", "routebook route: error: Invalid value for '--timeout': "),
        ("kv gett a b", "routebook kv: error: No such command 'gett'."),
        ("route a b", "routebook route: error: Got unexpected extra argument"),
        ("route a --timeout 0", "routebook: --timeout 0: give a number of seconds above 0"),
        ("route a -n a:b", "routebook: 'a:b' has no usable port"),
        ("route a --access-key x", "routebook: credentials need an access key and a secret key"),
        ("route a --tls-ca /none/such.pem", "routebook: TLS files cannot be used (/none/such.pem): No such file"),
        ("diff 127.0.0.1:1", "routebook: diff compares NameServers: give two addresses or more"),
        ("diff 127.0.0.1:1 127.0.0.1:1", "routebook: diff compares NameServers"),
        ("config set orderMessageEnable", "routebook: orderMessageEnable: not KEY=VALUE"),
        ("topics --unit --system", "routebook: --system and --unit: give one of them"),
        ("topic register t --broker b --perm x", "routebook: 'x' is no permission: give rw, r or w"),
        ("topic register t", "routebook topic register: error: Missing option '--broker'"),
        ("topic order t b-a", "routebook: clients could not use this: the order configuration of topic t is 'b-a'"),
        ("topic order t b-a:1 --delete", "routebook: --delete: give no order with it"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(line: str, message: str) -> None:
    ran = routebook(*line.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(message)
    assert ran.err.count("\n") == 1


def test_a_wrong_variable_is_wrong_usage() -> None:
    ran = routebook("route", "a", environment={"NAMESRV_ADDR": "host:0"})
    assert ran.code == 2
    assert ran.err == "routebook: 'host:0' has no usable port: it is a number from 1 to 65535\n"


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
        "_ROUTEBOOK_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    ran = routebook(environment=environment)
    assert ran.code == 0
    assert set(ran.out.split()) == wanted


def test_the_completion_script() -> None:
    ran = routebook(environment={"_ROUTEBOOK_COMPLETE": "source_bash"})
    assert ran.code == 0
    assert "_ROUTEBOOK_COMPLETE=complete_bash" in ran.out


@pytest.mark.parametrize("line", ["route orders", "kv get a b --json", "brokers -n 127.0.0.1:1", "topics"])
def test_a_plain_command_line_loads_no_typer_no_pydantic_no_rich(line: str) -> None:
    """They take longer to load than a NameServer takes to answer."""
    program = (
        f"import sys\nfrom routebook.cli import main\nprint(main({line.split()}))\n"
        "print(sorted({'typer', 'click', 'rich', 'pydantic', 'argparse', 'routebook.wire.fastjson.reader'}"
        " & {*sys.modules}))"
    )
    environment = {**os.environ, "NAMESRV_ADDR": NOWHERE}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.splitlines() == ["3", "[]"]


def test_help_loads_no_command() -> None:
    program = (
        "import sys\nfrom routebook.cli import main\nmain(['--help'])\n"
        "print(sorted(name for name in sys.modules if name.startswith(('routebook.client', 'routebook.server'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"

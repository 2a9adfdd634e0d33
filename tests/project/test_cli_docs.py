"""The examples of docs/cli.md print what the page shows; every command and check is on the page."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.cli.app import COMMANDS
from tests.support.command_line import routebook
from tests.support.process import serving
from tests.support.registered_brokers import broker, registered, topic

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
EXAMPLES = re.findall(r"^\$ routebook (.*)\n((?:(?!\$ |```).*\n)*)", PAGE.read_text(), re.MULTILINE)
ORDERS = topic("orders")
FIRST = [
    broker("b-a", ORDERS, topic("payments", read=4, write=4), topic("b-a", read=1, write=1), addr="10.0.0.1:10911"),
    broker(
        "b-a",
        *(ORDERS, topic("payments", read=4, write=4), topic("b-a", read=1, write=1)),
        addr="10.0.0.2:10911",
        broker_id=1,
    ),
]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """Addresses of two NameServers, and of a broker that is registered at the first only."""
    homes = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with serving(homes[0]) as first, serving(homes[1]) as second, socket.create_server(("127.0.0.1", 0)) as listening:
        one, two = f"{first.host}:{first.port}", f"{second.host}:{second.port}"
        living = f"127.0.0.1:{listening.getsockname()[1]}"
        lacking = broker("b-b", ORDERS, topic("b-b", read=1, write=1), addr=living)
        with registered(one, [*FIRST, lacking]), registered(two, FIRST):
            yield one, two, living


def test_the_examples_print_what_the_page_shows(addresses: tuple[str, str, str]) -> None:
    """In the order of the page: some depend on earlier ones."""
    one, two, living = addresses
    named = {one: "127.0.0.1:9876", two: "127.0.0.1:9877", living: "10.0.0.3:10911"}
    for line, wanted in EXAMPLES:
        if line.startswith("diff"):  # independent of the earlier examples
            routebook("config", "set", "orderMessageEnable=false", "-n", one)
        args = line.replace("127.0.0.1:9876", one).replace("127.0.0.1:9877", two).split()
        ran = routebook(*args, environment={"NAMESRV_ADDR": one})
        printed = ran.out + ran.err
        for address, name in named.items():
            printed = printed.replace(address, name)
        assert printed == wanted, line


def test_all_examples_are_found() -> None:
    assert len(EXAMPLES) == PAGE.read_text().count("$ routebook") > 15


def test_every_command_is_on_the_page() -> None:
    missing = [name for name in COMMANDS if f"`{name}`" not in PAGE.read_text()]
    assert not missing


def test_every_check_of_the_doctor_is_on_the_page() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src" / "routebook" / "doctor").glob("*.py"))
    checks = set(re.findall(r'(?:error|warning|note)\)?\(\s*"(\w+)",', source))
    assert len(checks) > 10
    assert checks == set(re.findall(r"^\| (\w+) \| (?!commands|here)", PAGE.read_text(), re.MULTILINE)) & checks

"""Unknown and incomplete names: suggestions from the NameServer, shell completion, and the log of a rejected broker."""

import asyncio
from collections.abc import Iterator

import pytest

from routebook.client import NameServerClient
from routebook.errors import RequestError
from tests.support.command_line import routebook
from tests.support.process import Process, serving
from tests.support.registered_brokers import broker, registered, topic


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with (
        serving(tmp_path_factory.mktemp("home")) as process,
        registered(f"{process.host}:{process.port}", [broker("b-orders", topic("orders"), topic("b-orders"))]),
    ):
        yield process


def test_unknown_names_have_suggestions(server: Process) -> None:
    where = f"{server.host}:{server.port}"
    ran = routebook("route", "order", "-n", where)
    assert (ran.code, ran.out) == (1, "")
    assert "did you mean orders" in ran.err
    for command in (("brokers", "b-order"), ("broker", "wipe", "b-order"), ("broker", "version", "b-order")):
        ran = routebook(*command, "-n", where)
        assert ran.code == 1
        assert "did you mean b-orders?" in ran.err, command


@pytest.mark.parametrize(
    ("line", "wanted"), [("routebook route or", "orders"), ("routebook broker wipe b-", "b-orders")]
)
def test_shells_complete_names(server: Process, line: str, wanted: str) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_ROUTEBOOK_COMPLETE": "bash_complete"}
    ran = routebook(environment={**words, "NAMESRV_ADDR": f"{server.host}:{server.port}"})
    assert ran.code == 0
    assert wanted in ran.out


def test_completion_without_a_nameserver_is_silent() -> None:
    words = {"COMP_WORDS": "routebook route x", "COMP_CWORD": "2", "_ROUTEBOOK_COMPLETE": "bash_complete"}
    ran = routebook(environment={**words, "NAMESRV_ADDR": "127.0.0.1:1"})
    assert (ran.code, ran.err) == (0, "")


def test_a_rejected_registration_is_logged_with_the_reason(server: Process) -> None:
    async def register() -> None:
        async with NameServerClient(f"{server.host}:{server.port}") as client:
            await client.register_broker(broker("b-partial", topic("single")))

    with pytest.raises(RequestError, match="register broker failed"):
        asyncio.run(register())
    line = server.wait_for_log("registration rejected.*")[0]
    assert "b-partial" in line
    assert "must contain all of its topics" in line

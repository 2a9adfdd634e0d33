"""A NameServer in the test process: ports, settings, restarts, waiting for routes."""

from pathlib import Path

import pytest

from routebook.errors import HomeError, ListenError, SettingsError
from routebook.testing import FakeBroker, LocalNameServer
from tests.support.asynchronous import asynchronous


def test_a_restart_keeps_the_port() -> None:
    with LocalNameServer() as one, LocalNameServer() as two:
        assert one.port != two.port
        before = one.address
        one.restart()
        assert one.address == before
    with pytest.raises(RuntimeError, match="not running"):
        one.topics()
    one.stop()  # a second call does nothing


def test_a_second_start_fails() -> None:
    with LocalNameServer() as nameserver, pytest.raises(RuntimeError, match="is already running"):
        nameserver.start()


def test_settings_by_their_keys() -> None:
    with pytest.raises(SettingsError, match="not a setting"):
        LocalNameServer(settings={"no.such": "thing"}).start()
    with LocalNameServer(settings={"enableAllTopicList": "false"}) as nameserver:
        assert nameserver.topics() == []


def test_a_port_in_use() -> None:
    with LocalNameServer() as one, pytest.raises(ListenError):
        LocalNameServer(settings={"routebook.listen": one.address}).start()


@asynchronous
async def test_its_client() -> None:
    with LocalNameServer() as nameserver:
        async with nameserver.client() as client:
            assert await client.topics() == []


def test_routes_survive_a_restart_only_with_a_home(tmp_path: Path) -> None:
    for home, remembers in ((None, False), (tmp_path / "home", True)):
        with (
            LocalNameServer(home=home) as nameserver,
            FakeBroker("broker-a", nameservers=nameserver.address, topics=["orders"]),
        ):
            assert nameserver.route("orders") is not None
            nameserver.restart()
            assert (nameserver.route("orders") is not None) is remembers


def test_a_home_in_use(tmp_path: Path) -> None:
    with LocalNameServer(home=tmp_path), pytest.raises(HomeError, match="in use"):
        LocalNameServer(home=tmp_path).start()


def test_waiting_for_a_route() -> None:
    with LocalNameServer() as nameserver:
        assert nameserver.wait_for_route("orders", gone=True) is None
        with pytest.raises(AssertionError, match=r"has no route of topic 'orders'"):
            nameserver.wait_for_route("orders", timeout_s=0.01)
        with FakeBroker(nameservers=nameserver.address, topics=["orders"]):
            assert nameserver.wait_for_route("orders") is not None
            with pytest.raises(AssertionError, match=r"still has a route of topic 'orders'"):
                nameserver.wait_for_route("orders", gone=True, timeout_s=0.01)
        nameserver.wait_for_route("orders", gone=True)

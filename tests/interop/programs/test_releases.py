"""A broker of each release, registered at Routebook and at a Java NameServer 5.5.0: both give the same answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.interop.programs.nameserver_probe import Server, wait_until
from tests.interop.programs.releases import FLAGS, RELEASES, group_of, make_home, project_of
from tests.support.compare import free_of_order
from tests.support.java import java_broker, java_nameserver
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """A Java NameServer and Routebook."""
    folder = tmp_path_factory.mktemp("both")
    with java_nameserver(folder / "java") as java, serving(folder / "ours") as ours:
        yield Server(java), Server(ours.address)


def views(server: Server, release: str, addr: str) -> dict[str, object]:
    """What clients and mqadmin ask of a NameServer. The time of a 3.x version is that of its arrival (322)."""
    ext = {"clusterName": "C1", "brokerName": f"b-{release}", "brokerAddr": addr, "brokerId": "0"}
    version = server.body(322, **ext)
    if release.startswith("3."):
        del version["timestamp"]
    topics = {name: server.route(name) for name in server.topics()}
    answers = {"106": server.body(106), "topics": topics, "322": version, "224": server.body(224, cluster="C1")}
    return {name: free_of_order(answer) for name, answer in answers.items()}


def _program(release: str) -> ParameterSet:
    scenario = "the same answers as a Java NameServer, until it is killed"
    return pytest.param(release, marks=pytest.mark.program("Java broker", release, scenario), id=release)


@pytest.mark.parametrize("release", [_program(release) for release in RELEASES])
def test_a_broker_of_each_release(release: str, both: tuple[Server, Server], tmp_path: Path) -> None:
    java, ours = both
    name = f"b-{release}"
    with java_broker(
        make_home(tmp_path / "home"),
        nameserver=f"{java.address};{ours.address}",
        flags=FLAGS,
        project=project_of(release),
        main=f"{group_of(release)}.broker.BrokerStartup",
        brokerName=name,
    ) as broker:
        addr = f"127.0.0.1:{broker.port}"
        for server in both:
            wait_until(lambda server=server: server.members(name) == {0: addr}, f"{name} is registered")  # type: ignore[misc]
        # a broker registers at the servers one after the other, and some announce more topics a moment later
        wait_until(lambda: views(java, release, addr) == views(ours, release, addr), "both give the same answers")
        broker.process.kill()
        for server in both:
            wait_until(lambda server=server: not server.members(name), f"{name} is removed")  # type: ignore[misc]
    assert views_are_empty(java) == views_are_empty(ours)


def views_are_empty(server: Server) -> bool:
    return not server.body(106)["brokerAddrTable"]

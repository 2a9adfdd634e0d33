"""Real programs around Routebook: NameServers and a broker that tests share, and a table of what was seen.

    @pytest.mark.program("Go SDK", "2.1.2", "round trip with admin calls")

says what a test proves. `--programs-report FILE` writes that down with the outcome, for docs/compatibility.md.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.programs.seen import Server
from tests.support.java import JavaBroker, java_broker
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]


class Pair(NamedTuple):
    """Two Routebook NameServers, as clients are configured with several."""

    first: Server
    second: Server

    @property
    def addresses(self) -> str:
        return f"{self.first.address};{self.second.address}"


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two NameServers for all tests."""
    homes = [tmp_path_factory.mktemp(name) for name in ("ns-1", "ns-2")]
    settings = {"orderMessageEnable": "true"}
    with serving(homes[0], settings=settings) as first, serving(homes[1], settings=settings) as second:
        yield Pair(Server(first.address), Server(second.address))


@pytest.fixture(scope="session")
def broker(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaBroker]:
    """A 5.5.0 broker `b-a`, registered at both."""
    home = tmp_path_factory.mktemp("broker")
    with java_broker(home, nameserver=pair.addresses, defaultTopicQueueNums=4) as process:
        for server in pair:
            server.wait_for_members("b-a", {0})
        yield process


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Take down the outcome of a program's test."""
    marker = item.get_closest_marker("program")
    if marker is None or (call.when != "call" and call.excinfo is None):
        return
    seen = item.config.stash.setdefault(_SEEN, {})
    skipped = call.excinfo is not None and call.excinfo.errisinstance(pytest.skip.Exception)
    outcome = "works" if call.excinfo is None else "not run" if skipped else "FAILS"
    figures = [str(value) for name, value in item.user_properties if name == "seen"]
    seen[item.nodeid] = [*marker.args, "; ".join([outcome, *figures])]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write them down where that was asked for."""
    report = session.config.getoption("--programs-report")
    seen = session.config.stash.get(_SEEN, {})
    if report and seen:
        Path(report).write_text(json.dumps(sorted(seen.values()), indent=1) + "\n")


_SEEN: pytest.StashKey[dict[str, list[str]]] = pytest.StashKey()

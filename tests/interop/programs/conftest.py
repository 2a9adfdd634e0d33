"""Shared NameServers and broker for the tests with third-party programs, and the report of their results.

    @pytest.mark.program("Go SDK", "2.1.2", "round trip with admin calls")

names the program, its version and the scenario. `--programs-report FILE` writes them with their outcome, for
docs/compatibility.md.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.programs.nameserver_probe import Server
from tests.support.java import JavaBroker, java_broker
from tests.support.process import serving


class Pair(NamedTuple):
    """Two Routebook NameServers: clients are usually configured with several."""

    first: Server
    second: Server

    @property
    def addresses(self) -> str:
        return f"{self.first.address};{self.second.address}"


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two NameServers for all tests of a process."""
    homes = [tmp_path_factory.mktemp(name) for name in ("ns-1", "ns-2")]
    settings = {"orderMessageEnable": "true"}
    with serving(homes[0], settings=settings) as first, serving(homes[1], settings=settings) as second:
        yield Pair(Server(first.address), Server(second.address))


@pytest.fixture(scope="session")
def broker(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaBroker]:
    """A 5.5.0 broker `b-a`, registered at both NameServers."""
    home = tmp_path_factory.mktemp("broker")
    with java_broker(home, nameserver=pair.addresses, defaultTopicQueueNums=4) as process:
        for server in pair:
            server.wait_for_members("b-a", {0})
        yield process


class Results:
    """Collects the outcome of each scenario and writes them as JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        outcome = {"passed": "works", "skipped": "not run"}.get(report.outcome, "FAILS")
        figures = [str(value) for name, value in report.user_properties if name == "seen"]
        for name, scenario in report.user_properties:
            if name == "program" and isinstance(scenario, list):
                self._rows[report.nodeid] = [*scenario, "; ".join([outcome, *figures])]

    def pytest_sessionfinish(self) -> None:
        if self._rows:
            self._path.write_text(json.dumps(sorted(self._rows.values()), indent=1) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    report = config.getoption("--programs-report")
    if report and not hasattr(config, "workerinput"):  # worker processes send their results to the main one
        config.pluginmanager.register(Results(Path(report)))


@pytest.hookimpl(tryfirst=True)  # before a test is skipped for want of a tool
def pytest_runtest_setup(item: pytest.Item) -> None:
    if (marker := item.get_closest_marker("program")) is not None:
        item.user_properties.append(("program", list(marker.args)))

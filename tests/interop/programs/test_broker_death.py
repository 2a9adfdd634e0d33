"""The time until a failed broker leaves its route, measured at a Java NameServer and at Routebook in one run."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.interop.programs.nameserver_probe import Server
from tests.support.java import JavaBroker, java_broker, java_nameserver
from tests.support.lag_meter import LagMeter
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]

SCAN_S: Final = 0.5  # both scan for silent brokers at this interval, not in phase
SETTINGS: Final = {"scanNotActiveBrokerInterval": int(SCAN_S * 1000)}
NOISE_S: Final = 0.3  # two polls of two processes


class Both(NamedTuple):
    """A Java NameServer and a Routebook."""

    java: Server
    own: Server


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with (
        java_nameserver(tmp_path_factory.mktemp("java"), **SETTINGS) as java,
        serving(tmp_path_factory.mktemp("routebook"), settings=SETTINGS) as own,
    ):
        yield Both(Server(java), Server(own.address))


def seconds_until_gone(both: Both, broker: str, act: Callable[[], None]) -> tuple[float, float]:
    """The time from `act` until the route of the broker's own topic is gone, at Java and at Routebook."""
    took: dict[str, float] = {}
    start = time.monotonic()

    def watch(name: str, server: Server) -> None:
        while server.route_members(broker, broker) and time.monotonic() - start < 60:
            time.sleep(0.01)
        took[name] = time.monotonic() - start

    threads = [threading.Thread(target=watch, args=pair) for pair in zip(("java", "own"), both, strict=True)]
    act()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took["java"], took["own"]


def ended(broker: JavaBroker, how: signal.Signals) -> Callable[[], None]:
    return lambda: broker.process.send_signal(how)


@pytest.mark.parametrize(
    ("how", "slack_s"),
    [
        pytest.param(
            signal.SIGKILL,
            NOISE_S,
            marks=pytest.mark.program("Java broker", "5.5.0", "killed: the route is gone no later than at Java"),
        ),
        pytest.param(
            signal.SIGTERM,
            NOISE_S,
            marks=pytest.mark.program("Java broker", "5.5.0", "stopped: the route is gone no later than at Java"),
        ),
        pytest.param(
            signal.SIGSTOP,
            SCAN_S + NOISE_S,
            marks=pytest.mark.program("Java broker", "5.5.0", "frozen: the route is gone no later than at Java"),
        ),
    ],
)
def test_a_route_disappears_no_later_than_at_java(
    both: Both, tmp_path: Path, how: signal.Signals, slack_s: float, record_property: Callable[[str, object], None]
) -> None:
    name = f"b-{how.name.lower()}"
    addresses = f"{both.java.address};{both.own.address}"
    # a broker with a heartbeat every second expires after ten; others after two minutes, too long for a test
    with java_broker(tmp_path, nameserver=addresses, brokerName=name, enableSlaveActingMaster="true") as broker:
        for server in both:
            server.wait_for_members(name, {0})
        time.sleep(2)  # until it has sent heartbeats
        with LagMeter() as lag:
            java_s, own_s = seconds_until_gone(both, name, ended(broker, how))
        record_property("seen", f"{own_s:.1f} s, Java {java_s:.1f} s")
        assert own_s <= java_s + slack_s + lag.worst_s

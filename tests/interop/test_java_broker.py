"""A real RocketMQ 5.5.0 broker registers at Routebook, appears in routes, and unregisters."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.compare import parse_body
from tests.support.java import java_broker
from tests.support.process import serving
from tests.support.remoting_frames import Link, Reply, Request

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.third_party]

REGISTER_TIMEOUT_S: Final = 180.0  # a broker registers at its start, and again 10 s later
SYSTEM_TOPICS: Final = {"SELF_TEST_TOPIC", "TBW102", "BenchmarkTest", "C1", "b-a", "OFFSET_MOVED_EVENT"}


class Admin:
    """Sends the requests of mqadmin."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._opaque = 0

    def ask(self, code: int, **ext: str) -> Reply:
        self._opaque += 1
        return self._link.ask(Request(code=code, opaque=self._opaque, ext=ext))

    def body(self, code: int, **ext: str) -> Any:
        reply = self.ask(code, **ext)
        assert reply.code == 0, reply
        return parse_body(reply.body)

    def brokers(self) -> dict[str, Any]:
        table: dict[str, Any] = self.body(106)["brokerAddrTable"]
        return table


def wait_until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + REGISTER_TIMEOUT_S
    while not happened():
        assert time.monotonic() < deadline, f"not within {REGISTER_TIMEOUT_S:.0f} s: {what}"
        time.sleep(0.05)


def test_a_broker_registers_appears_in_routes_and_unregisters(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "home") as server,
        Link(server.address) as link,
        java_broker(tmp_path / "broker", nameserver=server.address) as broker,
    ):
        admin = Admin(link)
        wait_until(lambda: "b-a" in admin.brokers(), "the broker is in 106")
        addr = f"127.0.0.1:{broker.port}"
        assert admin.body(106) == {
            "brokerAddrTable": {
                "b-a": {
                    "brokerAddrs": {"bare:0": addr},
                    "brokerName": "b-a",
                    "cluster": "C1",
                    "enableActingMaster": False,
                }
            },
            "clusterAddrTable": {"C1": ["b-a"]},
        }
        assert set(admin.body(206)["topicList"]) >= SYSTEM_TOPICS
        assert set(admin.body(224, cluster="C1")["topicList"]) == set(admin.body(206)["topicList"])
        route = admin.body(105, topic="TBW102")
        assert route["brokerDatas"] == [
            {"brokerAddrs": {"0": addr}, "brokerName": "b-a", "cluster": "C1", "enableActingMaster": False}
        ]
        (queues,) = route["queueDatas"]
        assert (queues["brokerName"], queues["perm"], queues["topicSysFlag"]) == ("b-a", 7, 0)
        member = admin.body(901, clusterName="C1", brokerName="b-a")["brokerMemberGroup"]
        assert member == {"brokerAddrs": {"bare:0": addr}, "brokerName": "b-a", "cluster": "C1"}

        topics = len(admin.body(206)["topicList"])
        assert admin.ask(205, brokerName="b-a").ext == {"wipeTopicCount": str(topics)}
        assert admin.body(105, topic="TBW102")["queueDatas"][0]["perm"] == 5
        assert admin.ask(327, brokerName="b-a").ext == {"addTopicCount": str(topics)}
        assert admin.body(105, topic="TBW102")["queueDatas"][0]["perm"] == 6

        broker.process.terminate()
        wait_until(lambda: not admin.brokers(), "the broker is removed after SIGTERM")
        assert admin.ask(105, topic="TBW102").code == 17
        assert admin.body(206) == {"topicList": []}


def test_a_broker_with_compressed_registration_can_register(tmp_path: Path) -> None:
    """It sends a compressed body with compressed=false, which the Java NameServer rejects."""
    with (
        serving(tmp_path / "home") as server,
        Link(server.address) as link,
        java_broker(tmp_path / "broker", nameserver=server.address, compressedRegister="true"),
    ):
        admin = Admin(link)
        wait_until(lambda: "b-a" in admin.brokers(), "the broker is in 106")
        assert set(admin.body(206)["topicList"]) >= SYSTEM_TOPICS
        assert admin.body(105, topic="BenchmarkTest")["queueDatas"][0]["readQueueNums"] == 1024

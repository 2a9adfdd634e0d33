"""Producer and consumer of the Java client: both header forms, TLS, and messages in order."""

from pathlib import Path

import pytest

from tests.interop.programs.conftest import Pair
from tests.interop.programs.nameserver_probe import wait_until
from tests.support.java import JavaBroker
from tests.support.programs import java_program, run

pytestmark = [pytest.mark.java, pytest.mark.slow]

COUNT = 40


def round_trip(pair: Pair, topic: str, home: Path, *words: str, flags: tuple[str, ...] = ()) -> str:
    """The last line of the program's output."""
    command = java_program("RoundTrip", pair.addresses, topic, str(COUNT), *words, flags=flags, home=home)
    return run(command, home=home).splitlines()[-1]


@pytest.mark.program("Java client", "5.5.0", "producer and push consumer, JSON headers, topic made on the way")
def test_json_headers(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    assert round_trip(pair, "java-json", tmp_path) == f"sent {COUNT} received {COUNT}"
    for server in pair:
        assert server.route_members("java-json", "b-a")


@pytest.mark.program("Java client", "5.5.0", "producer and push consumer, binary headers")
def test_binary_headers(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    flags = ("-Drocketmq.serialize.type=ROCKETMQ",)
    assert round_trip(pair, "java-binary", tmp_path, flags=flags) == f"sent {COUNT} received {COUNT}"


@pytest.mark.program("Java client", "5.5.0", "producer and push consumer, TLS")
def test_tls_to_the_nameserver(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    assert round_trip(pair, "java-tls", tmp_path, flags=("-Dtls.enable=true",)) == f"sent {COUNT} received {COUNT}"


@pytest.mark.program("Java client", "5.5.0", "messages in order, with an order configuration (updateOrderConf)")
def test_messages_in_order(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    for server in pair:
        order = {"namespace": "ORDER_TOPIC_CONFIG", "key": "java-order", "value": "b-a:3"}
        assert server.ask(100, **order).code == 0
    assert round_trip(pair, "java-order", tmp_path, "ordered") == f"sent {COUNT} received {COUNT} in order"
    for server in pair:
        wait_until(lambda server=server: server.route("java-order") is not None, "the topic is registered")  # type: ignore[misc]
        assert server.route("java-order")["orderTopicConf"] == "b-a:3"

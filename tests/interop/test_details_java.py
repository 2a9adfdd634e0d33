"""Single requests beside the Java NameServer 5.5.0: those that are the same, and those with a heading of their own."""

import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import pytest

from tests.support.compare import parse_body
from tests.support.java import java_nameserver
from tests.support.process import serving
from tests.support.remoting_frames import TYPE_BINARY, Link, Reply, Request, frame

pytestmark = [pytest.mark.java, pytest.mark.slow]

Address = tuple[str, int]
HEADER: Final = b'{"code":224,"extFields":{"cluster":"c"},"flag":0,"opaque":1,"version":513}'
BROKER: Final = {"clusterName": "c", "brokerName": "b", "brokerAddr": "b:1", "brokerId": "0"}
ZONE: Final = {"__ZONE_MODE": "true", "__ZONE_NAME": "z"}
MAPPING: Final = b'{"bname":"b","currIdMap":null,"epoch":1,"scope":null,"topic":"t","totalQueues":1}'
BODY: Final = (
    b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1},"topicConfigTable":{"t":{"topicName":"t"},'
    b'"u":{"topicName":"u"}},"topicQueueMappingInfoMap":{"t":%b}}}' % MAPPING
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Address, Address]]:
    folder = tmp_path_factory.mktemp("details")
    with java_nameserver(folder / "java", scanNotActiveBrokerInterval=300) as java, serving(folder / "ours") as ours:
        yield java, ours.address


def ask(address: Address, code: int, ext: dict[str, str], body: bytes = b"") -> Reply:
    with Link(address) as link:
        return link.ask(Request(code=code, ext=ext, body=body))


def exchange(address: Address, data: bytes) -> bytes | None:
    with Link(address) as link:
        link.send(data)
        return link.receive()


def until(happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.01)
    return happened()


def is_listed(address: Address, broker: str) -> bool:
    return broker in parse_body(ask(address, 106, {}).body)["brokerAddrTable"]


@pytest.mark.parametrize(
    "header",
    [
        HEADER.replace(b'"opaque"', b'"opaque\\u0000"'),
        HEADER.replace(b":224,", b':"",\0'),
        HEADER.replace(b'"flag"', b'"x":Set[1,2],"flag"'),
        HEADER.replace(b'"flag"', b'"x\xf0\x9d\x84\x9e":1,"flag"'),
        HEADER.replace(b'"flag"', b'"a long name \\" with a quote":1,"flag"'),
        HEADER.replace(b'"flag"', b'"x":{"currIdMap":{0:0}},"flag"'),
    ],
)
def test_unusual_headers_get_the_same_reply(header: bytes, servers: tuple[Address, Address]) -> None:
    java, ours = (exchange(address, frame(header)) for address in servers)
    assert java == ours


def test_a_surrogate_in_a_binary_header(servers: tuple[Address, Address]) -> None:
    whole = Request(code=105, ext={"topic": "a\ud800b\ud800"}, binary=True).encode()
    java, ours = (exchange(address, whole) for address in servers)
    assert java == ours
    assert whole[4] == TYPE_BINARY


def test_a_mapping_without_scope_and_queues_in_zone_mode(servers: tuple[Address, Address]) -> None:
    bodies: list[bytes] = []
    for address in servers:
        with Link(address) as link:
            assert link.ask(Request(code=103, ext=BROKER, body=BODY)).code == 0
            bodies += [link.ask(Request(code=105, ext={"topic": "t", **zone})).body for zone in ({}, ZONE)]
    assert bodies[0] == bodies[2]
    assert bodies[1] == bodies[3]
    assert b'"scope":"__global__"' in bodies[1]


def test_half_closed(servers: tuple[Address, Address]) -> None:
    """Java closes the connection when the client half-closes it; here the request is answered first."""
    answers = []
    for address in servers:
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(frame(HEADER))
            connection.shutdown(socket.SHUT_WR)
            answers.append(b"".join(iter(partial(connection.recv, 4096), b"")))
    assert b'"code":0' in answers[1]


def test_an_unregistration_without_a_broker_id(servers: tuple[Address, Address]) -> None:
    ext = {key: value for key, value in BROKER.items() if key != "brokerId"}
    assert [ask(address, 104, ext).code for address in servers] == [0, 1]


def test_a_timeout_that_overflows(servers: tuple[Address, Address]) -> None:
    """Java adds the timeout to the time of the heartbeat, which overflows: the broker expires at the next scan."""
    broker = {**BROKER, "brokerName": "o", "brokerAddr": "o:1", "heartbeatTimeoutMillis": str(2**63 - 1)}
    with Link(servers[0]) as java, Link(servers[1]) as ours:
        for link in (java, ours):
            assert link.ask(Request(code=103, ext=broker, body=BODY)).code == 0
        assert until(lambda: not is_listed(servers[0], "o"))
        assert is_listed(servers[1], "o")


def test_a_data_version_without_timestamp(servers: tuple[Address, Address]) -> None:
    """Java takes the time of each registration, so that all of them count as changes; here of the first."""
    times = []
    for address in servers:
        with Link(address) as link:
            for _ in range(2):
                assert link.ask(Request(code=103, ext=BROKER, body=BODY)).code == 0
                times.append(parse_body(link.ask(Request(code=322, ext=BROKER)).body)["timestamp"])
                assert until(lambda: time.time() * 1000 > times[-1] + 1)
    assert times[0] < times[1]
    assert times[2] == times[3]

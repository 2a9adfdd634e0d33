"""Connections: chunking, PROXY headers, foreign protocols, idle connections, and peers that do not read."""

import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.process import Process, serving
from tests.support.remoting import Client, eventually, get_kv, put_kv, register, route
from tests.support.remoting_frames import Request, Silence


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(tmp_path_factory.mktemp("home"), "--log-level", "debug") as process:
        yield process


@pytest.fixture(scope="module")
def broker(ns: Process) -> Iterator[Client]:
    """Register a broker; its connection stays open."""
    with Client(ns.address) as client:
        assert client.ask(register()).code == 0
        yield client


def pipelined(count: int) -> bytes:
    return b"".join(route("TopicTest", opaque=opaque).encode() for opaque in range(count))


@pytest.mark.parametrize("chunking", ["single bytes", "all at once", "random"])
@pytest.mark.usefixtures("broker")
def test_chunking_does_not_matter(ns: Process, chunking: str) -> None:
    count = 30 if chunking == "single bytes" else 500
    data = pipelined(count)
    cuts = {
        "single bytes": list(range(len(data))),
        "all at once": [],
        "random": sorted(random.Random(1).sample(range(len(data)), 200)),
    }[chunking]
    with Client(ns.address) as client:
        client.send_chunks(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))
        replies = client.receive_many(count)
    assert [reply.header["opaque"] for reply in replies] == list(range(count))
    assert {reply.code for reply in replies} == {0}


def test_the_first_twelve_bytes_decide_the_protocol(ns: Process) -> None:
    short = b"\x00\x00\x00\x06\x00\x00\x00\x02{}"
    with Client(ns.address) as client:
        client.send(short)
        with pytest.raises(Silence):
            client.receive(timeout_s=0.3)
        client.send(short)
        assert {reply.code for reply in client.receive_many(2)} == {3}


def test_one_way_requests_and_responses_are_not_answered(ns: Process) -> None:
    with Client(ns.address) as client:
        client.send(Request(code=106, flag=2, opaque=1).encode())
        client.send(Request(code=9999, flag=2, opaque=2).encode())
        client.send(Request(code=100, flag=2, opaque=3, ext={"namespace": "n", "key": "k", "value": "v"}).encode())
        client.send(Request(code=106, flag=1, opaque=4).encode())
        client.send(Request(code=106, opaque=5).encode())
        assert client.receive_many(1)[0].header["opaque"] == 5


def test_requests_before_garbage_are_answered(ns: Process) -> None:
    with Client(ns.address) as client:
        client.send(route("nowhere").encode() + b"\xff" * 16)
        assert client.receive_many(1)[0].code == 17
        assert client.is_closed_by_server()


def test_a_half_closed_connection_gets_its_answers(ns: Process) -> None:
    with Client(ns.address) as client:
        client.send(route("nowhere", opaque=1).encode() + put_kv("half", "closed", opaque=2).encode())
        client.socket.shutdown(socket.SHUT_WR)
        assert sorted(reply.header["opaque"] for reply in client.receive_many(2)) == [1, 2]
        assert client.receive() is None


V1 = b"PROXY TCP4 203.0.113.9 127.0.0.1 40000 9876\r\n"
V2 = (
    b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"
    + socket.inet_aton("203.0.113.10")
    + socket.inet_aton("127.0.0.1")
    + (40001).to_bytes(2, "big")
    + (9876).to_bytes(2, "big")
)


@pytest.mark.parametrize(("header", "source"), [(V1, "203.0.113.9:40000"), (V2, "203.0.113.10:40001")])
def test_a_proxy_header_sets_the_source_address(ns: Process, header: bytes, source: str) -> None:
    with Client(ns.address) as client:
        data = header + put_kv(source, "v").encode()
        client.send_chunks(data[at : at + 1] for at in range(len(data)))
        assert client.receive_many(1)[0].code == 0
    ns.wait_for_log(f"kv put .*peer={source}")


def test_an_invalid_proxy_header_closes_the_connection(ns: Process) -> None:
    with Client(ns.address) as client:
        client.send(b"PROXY TCP4 nonsense\r\n")
        assert client.is_closed_by_server()


def test_a_browser_gets_the_address_of_the_http_port_and_the_log_names_it_once(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as ns:
        http_address = ns.wait_until_http().removeprefix("http://")
        for _ in range(3):
            with Client(ns.address) as client:
                client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answer = client.receive_rest()
                assert answer.startswith(b"HTTP/1.1 400 ")
                assert f"the console and the HTTP API are at {http_address}.".encode() in answer
        ns.wait_for_log("speaks HTTP")
        ns.stop()
        assert ns.log.count("speaks HTTP") == 1


def test_grpc_is_closed_and_the_log_names_the_solution(ns: Process) -> None:
    with Client(ns.address) as client:
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 9)
        assert client.is_closed_by_server()
    ns.wait_for_log("not a RocketMQ client .*gRPC client must use the endpoint of a RocketMQ proxy")


def test_closing_a_connection_removes_its_broker(ns: Process) -> None:
    with Client(ns.address) as other:
        with Client(ns.address) as client:
            assert client.ask(register(broker="short-lived", addr="127.0.0.1:1", topics=("brief", "briefer"))).code == 0
            assert other.ask(route("brief")).code == 0
        eventually(lambda: other.ask(route("brief")).code == 17, "the route is gone")
    ns.wait_for_log("broker down .*broker=short-lived .*reason=closed")


def test_a_silent_broker_expires_and_its_connection_is_closed(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"scanNotActiveBrokerInterval": 50}) as ns, Client(ns.address) as client:
        assert client.ask(register(timeout_ms=100)).code == 0
        assert client.is_closed_by_server()
        ns.wait_for_log("broker down .*reason=expired")


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(tmp_path_factory.mktemp("home"), settings={"serverChannelMaxIdleTimeSeconds": 1}) as process:
        yield process


class TestIdle:
    def test_an_idle_connection_is_closed_and_its_broker_removed(self, impatient: Process) -> None:
        with Client(impatient.address) as client:
            assert client.ask(register()).code == 0
            began = time.monotonic()
            assert client.is_closed_by_server()
            assert time.monotonic() - began > 0.9
        impatient.wait_for_log("broker down .*reason=idle")

    def test_a_connection_without_any_bytes_is_closed(self, impatient: Process) -> None:
        with Client(impatient.address) as client:
            assert client.is_closed_by_server()

    def test_an_active_connection_stays_open(self, impatient: Process) -> None:
        with Client(impatient.address) as client:
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                assert client.ask(route("nowhere")).code == 17
                time.sleep(0.2)

    def test_an_incomplete_frame_does_not_keep_a_connection_open(self, impatient: Process) -> None:
        with Client(impatient.address) as client:
            client.send(route("nowhere").encode()[:-1])
            assert client.is_closed_by_server()


class TestBackpressure:
    """A peer that sends requests and does not read the answers."""

    REQUESTS = 150

    def test_memory_is_bounded_others_are_served_and_all_answers_arrive(self, tmp_path: Path) -> None:
        with serving(tmp_path) as ns, Client(ns.address) as broker:
            topics = [f"a-topic-with-quite-a-long-name-{number:06}" for number in range(20_000)]
            assert broker.ask(register(topics=topics)).code == 0
            with Client(ns.address, receive_buffer_bytes=4096) as slow, Client(ns.address) as other:
                answer_bytes = len(other.ask(Request(code=206)).raw)
                before = ns.resident_bytes()
                slow.send(b"".join(Request(code=206, opaque=n).encode() for n in range(self.REQUESTS)))
                for _ in range(50):
                    assert other.ask(route(topics[0])).code == 0
                grown = ns.resident_bytes() - before
                assert grown < 20 * answer_bytes, f"{grown} bytes for {self.REQUESTS} answers of {answer_bytes}"

                replies = slow.receive_many(self.REQUESTS)
                assert [reply.header["opaque"] for reply in replies] == list(range(self.REQUESTS))
                assert {len(reply.body) for reply in replies} == {len(replies[0].body)}
                assert slow.ask(route(topics[0])).code == 0

    def test_a_peer_that_disconnects_without_reading(self, tmp_path: Path) -> None:
        with serving(tmp_path) as ns, Client(ns.address) as broker:
            assert broker.ask(register(topics=[f"topic-{number:06}" for number in range(20_000)])).code == 0
            with Client(ns.address, receive_buffer_bytes=4096) as slow:
                slow.send(b"".join(Request(code=206, opaque=n).encode() for n in range(50)))
            assert broker.ask(route("topic-000001")).code == 0
            assert ns.stop() == 0
            assert "Traceback" not in ns.log


def test_concurrent_writes_are_on_disk_before_they_are_answered(tmp_path: Path) -> None:
    count = 500
    with serving(tmp_path) as ns, Client(ns.address) as client:
        client.send(b"".join(put_kv(f"key-{n}", str(n), opaque=n).encode() for n in range(count)))
        replies = client.receive_many(count)
        assert {reply.code for reply in replies} == {0}
        assert {reply.header["opaque"] for reply in replies} == set(range(count))
        ns.kill()
    with serving(tmp_path) as ns, Client(ns.address) as client:
        client.send(b"".join(get_kv(f"key-{n}", opaque=n).encode() for n in range(count)))
        assert {int(reply.ext["value"]) for reply in client.receive_many(count)} == set(range(count))


def test_watermarks_and_traffic_are_logged_in_the_format_of_java(ns: Process) -> None:
    with Client(ns.address) as client:
        client.ask(Request(code=106))
    ns.wait_for_log(rf"Port: {ns.port}, RequestCode Distribution: {{.*106:\d")
    ns.wait_for_log(rf"Port: {ns.port}, ResponseCode Distribution: {{0:\d")
    ns.wait_for_log(r"\[WATERMARK\] ClientQueueSize:0 ClientQueueSlowTime:0 DefaultQueueSize:0 DefaultQueueSlowTime:0")

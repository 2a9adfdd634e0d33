"""Outbound connections: 905 to brokers, 105 to the NameServers of the product environment."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.process import serving
from tests.support.remoting import Client, eventually, register, route
from tests.support.remoting_frames import Reply, Request


class FakeBroker:
    """Listens on its address and reads notices."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._listener.settimeout(20)
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._connection: socket.socket | None = None
        self._pending = b""

    def next_frame(self) -> bytes:
        if self._connection is None:
            self._connection, _ = self._listener.accept()
            self._connection.settimeout(20)
        while len(self._pending) < 4 or len(self._pending) < 4 + int.from_bytes(self._pending[:4], "big"):
            chunk = self._connection.recv(1 << 16)
            assert chunk, "the NameServer closed the connection"
            self._pending += chunk
        size = 4 + int.from_bytes(self._pending[:4], "big")
        frame, self._pending = self._pending[:size], self._pending[size:]
        return frame

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._listener.close()


@contextmanager
def fake_broker() -> Iterator[FakeBroker]:
    broker = FakeBroker(socket.create_server(("127.0.0.1", 0)))
    try:
        yield broker
    finally:
        broker.close()


def notice_fields(frame: bytes) -> dict[str, str]:
    """Check the frame of a 905 and return its fields."""
    notice = Reply.parse(frame)
    opaque = notice.header["opaque"]
    ext = dict(notice.ext)
    expected = {"code": 905, "extFields": ext, "flag": 2, "language": "JAVA", "opaque": opaque}
    expected |= {"serializeTypeCurrentRPC": "JSON", "version": 513}
    assert frame[8:] == json.dumps(expected, separators=(",", ":")).encode()
    return ext


def test_brokers_are_notified_about_the_lowest_id(tmp_path: Path) -> None:
    with (
        serving(tmp_path, settings={"notifyMinBrokerIdChanged": True}) as ns,
        fake_broker() as slave,
        fake_broker() as other,
    ):
        with Client(ns.address) as slave_link, Client(ns.address) as other_link, Client(ns.address) as master_link:
            assert slave_link.ask(register(broker_id=1, addr=slave.address, acting_master=True)).code == 0
            assert other_link.ask(register(broker_id=2, addr=other.address, acting_master=True)).code == 0
            master = register(broker_id=0, addr="127.0.0.1:9", acting_master=True)
            assert master_link.ask(master).code == 0
            came = {"minBrokerId": "0", "minBrokerAddr": "127.0.0.1:9", "haBrokerAddr": "127.0.0.1:9"}
            assert notice_fields(slave.next_frame()) == came
            assert notice_fields(other.next_frame()) == came

            master_link.close()
            went = {"minBrokerId": "1", "minBrokerAddr": slave.address, "offlineBrokerAddr": "127.0.0.1:9"}
            to_slave, to_other = slave.next_frame(), other.next_frame()
            assert notice_fields(to_slave) == went
            assert to_slave == to_other  # the same request to each, opaque included
        assert ns.stop() == 0


def test_an_unreachable_broker_is_logged_and_others_are_served(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"127.0.0.1:{listener.getsockname()[1]}"
    with serving(tmp_path, settings={"notifyMinBrokerIdChanged": True}) as ns, Client(ns.address) as client:
        assert client.ask(register(broker_id=1, addr=nobody, acting_master=True)).code == 0
        assert client.ask(register(broker_id=0, addr="127.0.0.1:9", acting_master=True)).code == 0
        ns.wait_for_log(f"cannot be reached .*peer={nobody}")
        assert client.ask(route("TopicTest")).code == 0


class TestClusterTest:
    @pytest.fixture
    def product(self, tmp_path: Path) -> Iterator[Client]:
        """The product environment: a NameServer with a topic, registered over the connection of the client."""
        with serving(tmp_path / "product") as product, Client(product.address) as client:
            assert client.ask(register()).code == 0
            self.address = f"127.0.0.1:{product.port}"
            self.process = product
            yield client

    def test_unknown_topics_are_looked_up(self, product: Client, tmp_path: Path) -> None:
        with (
            serving(tmp_path / "home", "-n", self.address, settings={"clusterTest": True}) as ns,
            Client(ns.address) as client,
        ):
            plain = product.ask(route("TopicTest", version=400)).body
            assert plain
            count = 50
            client.send(b"".join(route("TopicTest", opaque=opaque).encode() for opaque in range(count)))
            replies = client.receive_many(count)
            assert {reply.body for reply in replies} == {plain}
            assert {reply.header["opaque"] for reply in replies} == set(range(count))
            unknown = client.ask(route("nowhere"))
            assert unknown.code == 17
            assert unknown.remark == product.ask(route("nowhere")).remark
            assert client.ask(Request(code=106)).code == 0

    @pytest.mark.usefixtures("product")
    def test_the_next_nameserver_is_asked_if_the_first_is_unreachable(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            gone = f"127.0.0.1:{listener.getsockname()[1]}"
        addresses = f"{gone};{self.address}"
        with (
            serving(tmp_path / "home", "-n", addresses, settings={"clusterTest": True}) as ns,
            Client(ns.address) as client,
        ):
            assert client.ask(route("TopicTest")).code == 0
            self.process.kill()
            eventually(lambda: client.ask(route("TopicTest")).code == 17, "the topic is unknown")

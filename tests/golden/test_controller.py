"""Sessions captured from the Java Controller 5.5.0, replayed over sockets: equal but for the named deviations."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.compare import settings_text
from tests.support.controller_golden import Line, decoded, session
from tests.support.controllers import routebook_process
from tests.support.etcd import etcd_cluster
from tests.support.process import Process
from tests.support.remoting_frames import Link, Reply, Request
from tests.unit.controller.test_machine import DEVIATIONS

SETTLE_TIMEOUT_S: Final = 30.0
OPAQUE: Final = 99_999_999
PROBE: Final = Request(code=9998, opaque=OPAQUE)
LOCAL_KEYS: Final = {
    *("configStorePath", "controllerStorePath", "rocketmqHome", "listenPort", "bindAddress", "controllerDLegerPeers"),
    *("controllerDLegerSelfId", "kvConfigPath"),
}
# Java's frames name these ports: they are replaced by free ones, which have as many digits
JAVA_PORTS: Final = (23510, 23520, 23530, 23911, 23921, 23931)


class Ports:
    """Free ports of five digits in place of those in the captured frames."""

    def __init__(self) -> None:
        self.free: dict[int, int] = {}
        held = []
        for port in JAVA_PORTS:
            while True:
                one = socket.create_server(("127.0.0.1", 0))
                held.append(one)
                number = one.getsockname()[1]
                if number > 9999:
                    break
            self.free[port] = number
        for one in held:
            one.close()

    def translate(self, data: bytes) -> bytes:
        for java, free in self.free.items():
            data = data.replace(b"127.0.0.1:%d" % java, b"127.0.0.1:%d" % free)
        return data


class Listener:
    """A broker's address: collects the frames that arrive."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", port))
        self._server.settimeout(0.05)
        self._links: list[socket.socket] = []
        self._data: dict[int, bytes] = {}

    def frames(self, count: int) -> list[bytes]:
        """Wait until `count` frames have arrived; return and forget all."""
        deadline = time.monotonic() + (SETTLE_TIMEOUT_S if count else 0.3)
        while True:
            self._read()
            found = [frame for data in self._data.values() for frame in _split(data)]
            if (count and len(found) >= count) or time.monotonic() > deadline:
                self._data = dict.fromkeys(self._data, b"")
                return found

    def _read(self) -> None:
        try:
            link, _ = self._server.accept()
            link.settimeout(0.05)
            self._links.append(link)
        except TimeoutError:
            pass
        for number, link in enumerate(self._links):
            try:
                self._data[number] = self._data.get(number, b"") + link.recv(65536)
            except TimeoutError:
                continue

    def close(self) -> None:
        for link in (*self._links, self._server):
            link.close()


def _split(data: bytes) -> Iterator[bytes]:
    while len(data) > 4:
        size = 4 + int.from_bytes(data[:4], "big")
        yield data[:size]
        data = data[size:]


class Replay:
    """Sends the lines of a session, each over its named connection."""

    def __init__(self, ports: Ports, addresses: dict[str, tuple[str, int]], stack: ExitStack) -> None:
        self._ports = ports
        self._addresses = addresses
        self._links: dict[str, Link] = {}
        self._stack = stack
        self._listeners = {
            java: stack.enter_context(closing(Listener(ports.free[java]))) for java in (23911, 23921, 23931)
        }

    def difference(self, line: Line) -> str | None:
        """What is not as captured; None: nothing."""
        if line.close:
            assert line.conn is not None
            self._links.pop(line.conn).close()
            return None
        if line.notify is not None:
            return self._notifications(line)
        deadline = time.monotonic() + (SETTLE_TIMEOUT_S if line.settle and line.name not in DEVIATIONS else 0)
        while True:
            found = self._answer(line)
            if found is None or time.monotonic() > deadline:
                return found

    def _answer(self, line: Line) -> str | None:
        assert line.conn is not None
        assert line.request is not None
        link = self._links.get(line.conn)
        if link is None:
            address = self._addresses.get(line.conn, self._addresses["main"])
            link = self._links[line.conn] = self._stack.enter_context(Link(address))
        link.send(self._ports.translate(line.request))
        if line.response is None:
            link.send(PROBE.encode())
            raw = link.receive()
            return None if raw is not None and Reply.parse(raw).header["opaque"] == OPAQUE else f"answered {raw!r}"
        raw = link.receive()
        assert raw is not None, f"{line.name}: the connection was closed"
        captured = self._ports.translate(line.response)
        if line.is_exception:
            mine, java = decoded(raw), decoded(captured)
            return None if mine.code == java.code and mine.remark else f"{raw!r}"
        if line.is_local:
            mine_reply, java_reply = Reply.parse(raw), Reply.parse(captured)
            mine_settings, java_settings = settings_text(mine_reply.body), settings_text(java_reply.body)
            assert list(mine_settings) == sorted(mine_settings)
            if mine_reply.header != java_reply.header or mine_settings.keys() != java_settings.keys():
                return f"{mine_settings.keys() ^ java_settings.keys()} {mine_reply.header}"
            wrong = {key for key, value in java_settings.items() if mine_settings[key] != value} - LOCAL_KEYS
            return f"differ: {wrong}" if wrong else None
        return None if raw == captured else f"{raw!r} instead of {captured!r}"

    def _notifications(self, line: Line) -> str | None:
        assert line.notify is not None
        listener = self._listeners[int(line.notify.rpartition(":")[2])]
        found = [decoded(frame) for frame in listener.frames(len(line.frames))]
        captured = [decoded(self._ports.translate(frame)) for frame in line.frames]

        def shown(one: object) -> object:
            return [getattr(one, field) for field in ("code", "flag", "version", "language", "ext", "body")]

        return None if [*map(shown, found)] == [*map(shown, captured)] else f"{found} instead of {captured}"


def play(name: str, ports: Ports, addresses: dict[str, tuple[str, int]]) -> None:
    with ExitStack() as stack:
        replay = Replay(ports, addresses, stack)
        found = {line.name: replay.difference(line) for line in session(name)}
    wrong = {key: value for key, value in found.items() if value is not None and key not in DEVIATIONS}
    assert wrong == {}
    unused = {key for key, value in found.items() if value is None and key in DEVIATIONS}
    assert unused == set(), "a deviation that does not deviate any more"


@contextmanager
def controller(home: Path, ports: Ports, node: str = "n0", *, peers: int = 1, **settings: str) -> Iterator[Process]:
    """A Controller in its own process."""
    with routebook_process(home, "controller", _properties(ports, node, peers, settings)) as process:
        yield process


def _properties(ports: Ports, node: str, peers: int, settings: dict[str, str]) -> dict[str, object]:
    named = [f"n{number}-127.0.0.1:{ports.free[port]}" for number, port in enumerate(JAVA_PORTS[:peers])]
    return {
        "controllerDLegerGroup": "g1",
        "controllerDLegerPeers": ";".join(named),
        "controllerDLegerSelfId": node,
        "mappedFileSize": "1048576",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }


@pytest.mark.parametrize(("name", "unclean"), [("single", "false"), ("unclean", "true")])
def test_a_single_controller_answers_as_java_does(tmp_path: Path, name: str, unclean: str) -> None:
    ports = Ports()
    with controller(tmp_path / "n0", ports, enableElectUncleanMaster=unclean):
        play(name, ports, {"main": ("127.0.0.1", ports.free[23510])})


def test_a_controller_in_the_nameserver_answers_as_java_does(tmp_path: Path) -> None:
    ports = Ports()
    lines = {
        **_properties(ports, "n0", 1, {}),
        "enableControllerInNamesrv": "true",
        "controllerStorePath": f"{tmp_path}/s",
    }
    with routebook_process(tmp_path / "ns", "serve", lines, "--listen", "127.0.0.1:0", "--http", "off") as process:
        process.wait_until_listening()
        play("namesrv", ports, {"main": ("127.0.0.1", ports.free[23510]), "ns": process.address})
        assert process.stop() == 0


def test_a_node_without_etcd_answers_as_a_java_node_without_a_majority(tmp_path: Path) -> None:
    ports = Ports()
    etcd = {"routebook_controller_engine": "etcd", "routebook_controller_etcdEndpoints": "http://127.0.0.1:1"}
    with controller(tmp_path / "n1", ports, "n1", peers=3, **etcd):
        play("noquorum", ports, {"main": ("127.0.0.1", ports.free[23520])})


def test_a_follower_answers_as_java_does_and_leads_after_the_leader_stopped(tmp_path: Path) -> None:
    ports = Ports()
    with etcd_cluster(tmp_path, 1) as cluster:
        etcd = {"routebook_controller_engine": "etcd", "routebook_controller_etcdEndpoints": cluster.endpoints[0]}
        with controller(tmp_path / "n1", ports, "n1", peers=3, **etcd) as leader:
            leader.wait_for_log("this Controller node leads")
            with controller(tmp_path / "n0", ports, "n0", peers=3, **etcd) as follower:
                _wait_for_leader(("127.0.0.1", ports.free[23510]))
                play("follower", ports, {"main": ("127.0.0.1", ports.free[23510])})
                assert leader.stop() == 0
                follower.wait_for_log("this Controller node leads")


def _wait_for_leader(address: tuple[str, int]) -> None:
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    with Link(address) as link:
        while "controllerLeaderId" not in (link.ask(Request(code=1005)).ext or {}):
            assert time.monotonic() < deadline

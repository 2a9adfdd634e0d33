"""One of the compared Controllers, and the brokers that it notifies."""

import json
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tests.support.compare import parse_body
from tests.support.controllers import java_controller, routebook_controller
from tests.support.differential.endpoint import Answer, Endpoint
from tests.support.differential.steps import Ask, Expectation
from tests.support.differential_controller.names import ADDRESSES, HOST
from tests.support.free_ports import free_port
from tests.support.remoting_frames import Reply, split_frames

# the scan for dead masters would act at times of its own; one attempt per election keeps Java's epochs comparable
SETTINGS: Final[dict[str, object]] = {"scanInactiveMasterInterval": 3_600_000, "electMasterMaxRetryCount": 1}
WARM_UP_S: Final = 10.5  # Routebook's first scan for dead masters is 10 s after its start


class ControllerEndpoint(Endpoint):
    """A Controller. The addresses in steps are replaced by addresses at which this endpoint listens, and back."""

    def __init__(self, name: str, address: str, host: str, ports: Mapping[str, int]) -> None:
        own, _, port = address.rpartition(":")
        super().__init__(name, lambda: (own, int(port)))
        assert len(host) == len(HOST)
        self._own = address
        self._addresses = {ours: f"{host}:{port}" for ours, port in ports.items()}
        self.brokers = Notified({f"{host}:{port}": ours for ours, port in ports.items()})

    def exchange(self, conn: str, data: bytes, *, expect: Expectation) -> Answer:
        answer = super().exchange(conn, self._outwards(data), expect=expect)
        return replace(answer, replies=tuple(self._inwards(reply) for reply in answer.replies))

    def ask_all(self, questions: Sequence[Ask], tag: str) -> list[Reply]:
        return [self._inwards(reply) for reply in super().ask_all(questions, tag)]

    def sets(self, *names: str) -> dict[str, Any]:
        """1006."""
        reply = self._inwards(self.ask(1006, body=json.dumps(names).encode()))
        table: dict[str, Any] = parse_body(reply.body)["replicasInfoTable"]
        return table

    def notifications(self) -> dict[str, list[bytes]]:
        """All frames so far, by address, each without its opaque."""
        found = self.brokers.frames()
        return {address: [_without_opaque(self._inwards(Reply.parse(one))) for one in all_] for address, all_ in found}

    def close(self) -> None:
        super().close()
        self.brokers.close()

    def _outwards(self, data: bytes) -> bytes:
        for ours, theirs in self._addresses.items():
            data = data.replace(ours.encode(), theirs.encode())
        return data

    def _inwards(self, reply: Reply) -> Reply:
        raw = reply.raw.replace(self._own.encode(), b"CONTROLLER" + b"_" * (len(self._own) - 10))
        for ours, theirs in self._addresses.items():
            raw = raw.replace(theirs.encode(), ours.encode())
        return Reply.parse(raw)


def _without_opaque(reply: Reply) -> bytes:
    return reply.raw[8:].replace(b'"opaque":%d' % reply.header["opaque"], b'"opaque":N')


class Notified:
    """Listens at the addresses of all brokers and collects frames, in a thread of its own."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        """`addresses`: where to listen, and the address that steps use for it."""
        self._received: dict[str, dict[int, bytes]] = {ours: {} for ours in addresses.values()}
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        for theirs, ours in addresses.items():
            host, _, port = theirs.rpartition(":")
            server = socket.create_server((host, int(port)))
            self._selector.register(server, selectors.EVENT_READ, (ours, True))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def frames(self) -> list[tuple[str, list[bytes]]]:
        """Complete frames by address, in order of arrival per connection."""
        with self._lock:
            return [
                (ours, [frame for data in by_link.values() for frame in split_frames(data)])
                for ours, by_link in self._received.items()
                if any(by_link.values())
            ]

    def forget(self) -> None:
        with self._lock:
            for by_link in self._received.values():
                for link in by_link:
                    by_link[link] = b""

    def _run(self) -> None:
        while not self._closing.is_set():
            for key, _ in self._selector.select(0.1):
                ours, is_server = key.data
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if is_server:
                    self._selector.register(one.accept()[0], selectors.EVENT_READ, (ours, False))
                    continue
                data = one.recv(1 << 16)
                with self._lock:
                    by_link = self._received[ours]
                    by_link[key.fd] = by_link.get(key.fd, b"") + data
                if not data:
                    self._selector.unregister(one)
                    one.close()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()


def free_ports(*hosts: str) -> dict[str, int]:
    """A port of five digits for each address of the steps, free on all hosts."""
    return {address: free_port(hosts=hosts) for address in ADDRESSES}


@contextmanager
def endpoints(folder: Path) -> Iterator[tuple[ControllerEndpoint, ControllerEndpoint]]:
    """A Java controller and a Routebook Controller."""
    with two_endpoints(
        ("java", lambda: java_controller(folder / "java", address=None, **SETTINGS)),
        ("routebook", lambda: routebook_controller(folder / "routebook", address=None, **SETTINGS)),
    ) as both:
        yield both


@contextmanager
def two_endpoints(
    *servers: tuple[str, Callable[[], AbstractContextManager[str]]],
) -> Iterator[tuple[ControllerEndpoint, ControllerEndpoint]]:
    hosts = ("127.0.0.2", "127.0.0.3")
    ports = free_ports(*hosts)
    with ExitStack() as stack:
        made = []
        for (name, start), host in zip(servers, hosts, strict=True):
            address = stack.enter_context(start())
            made.append(stack.enter_context(closing(ControllerEndpoint(name, address, host, ports))))
        time.sleep(WARM_UP_S)
        yield made[0], made[1]

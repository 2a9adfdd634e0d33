"""Shutdown: every request that was sent before the signal is answered."""

import fcntl
import signal
import socket
import sys
import termios
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.process import Process, serving
from tests.support.remoting import Client, put_kv, register, route, trusting_anybody
from tests.support.remoting_frames import Reply, Request

BATCH = 40
GRACEFULLY = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": 3600}


class Asker(threading.Thread):
    """Sends batches and reads all answers until the signal is about to be sent."""

    def __init__(self, client: Client, *, saves: bool) -> None:
        super().__init__(daemon=True)
        self.sending = threading.Lock()
        self.enough = False
        self.batches = 0
        self.unanswered: int | None = None
        self._client = client
        self._saves = saves

    def run(self) -> None:
        while True:
            with self.sending:
                if self.enough:
                    break
                self._client.send(b"".join(self._request(opaque).encode() for opaque in range(BATCH)))
                self.batches += 1
            answered: set[int] = set()
            while len(answered) < BATCH and (raw := self._client.receive()) is not None:
                answered.add(Reply.parse(raw).header["opaque"])
            self.unanswered = BATCH - len(answered)
            if self.unanswered:
                break

    def _request(self, opaque: int) -> Request:
        if self._saves and opaque % 8 == 0:
            return put_kv(f"key-{opaque}", "value", opaque=opaque)
        return route("TopicTest", opaque=opaque)


@pytest.mark.parametrize("tls", [False, True])
def test_sigterm_under_load_loses_no_answer(tmp_path: Path, tls: bool) -> None:
    context = trusting_anybody() if tls else None
    with serving(tmp_path) as ns, ExitStack() as clients:
        broker = clients.enter_context(Client(ns.address))
        assert broker.ask(register()).code == 0
        askers = [
            Asker(clients.enter_context(Client(ns.address, tls=context)), saves=number % 2 == 0) for number in range(8)
        ]
        for asker in askers:
            asker.start()
        while min(asker.batches for asker in askers) < 5:
            assert all(asker.is_alive() for asker in askers)
        for asker in askers:
            asker.sending.acquire()  # every batch is now sent completely or not started
        ns.send(signal.SIGTERM)
        for asker in askers:
            asker.enough = True
            asker.sending.release()
        for asker in askers:
            asker.join(30)
        assert [asker.unanswered for asker in askers] == [0] * len(askers)
        assert ns.wait() == 0
        assert "Traceback" not in ns.log


@pytest.mark.parametrize("tls", [False, True])
def test_requests_that_the_server_has_not_read_yet_are_answered(tmp_path: Path, tls: bool) -> None:
    """SIGSTOP holds the process while requests and a new connection arrive; it continues with SIGTERM pending."""
    count = 1000
    requests = b"".join(route("nowhere", opaque=opaque).encode() for opaque in range(count))
    with serving(tmp_path) as ns, ExitStack() as clients:
        context = trusting_anybody() if tls else None
        known = [clients.enter_context(Client(ns.address, tls=context)) for _ in range(5)]
        for client in known:
            assert client.ask(route("nowhere")).code == 17
        ns.send(signal.SIGSTOP)
        new = clients.enter_context(Client(ns.address))
        for client in (*known, new):
            client.send(requests)
        ns.send(signal.SIGTERM)
        ns.send(signal.SIGCONT)
        for client in (*known, new):
            assert [reply.header["opaque"] for reply in client.receive_many(count)] == list(range(count))
            assert client.receive() is None
        assert ns.wait() == 0


def test_a_client_that_keeps_sending_gets_the_answers_to_earlier_requests(tmp_path: Path) -> None:
    """A full close would reset the connection and lose the answers that the client has not read."""
    count = 50
    with serving(tmp_path) as ns, Client(ns.address) as client, Client(ns.address) as other:
        assert other.ask(route("nowhere")).code == 17
        assert client.ask(route("nowhere")).code == 17
        ns.send(signal.SIGSTOP)
        client.send(b"".join(route("nowhere", opaque=opaque).encode() for opaque in range(count)))
        ns.send(signal.SIGTERM)
        ns.send(signal.SIGCONT)
        assert other.receive() is None  # from here on the server is draining
        assert all(client.send(route("nowhere", opaque=count).encode()) for _ in range(100)), "reset while sending"
        assert [reply.header["opaque"] for reply in client.receive_many(count)] == list(range(count))
        assert client.socket.recv(1) == b""  # an orderly end: a reset would raise
        client.close()
        assert ns.wait() == 0


def test_requests_behind_a_slow_reader_are_answered(tmp_path: Path) -> None:
    request = route("nowhere").encode()
    with serving(tmp_path) as ns, Client(ns.address, receive_buffer_bytes=4096) as slow:
        slow.socket.setblocking(False)
        sent, stuck_since = 0, time.monotonic()
        while time.monotonic() < stuck_since + 0.5:  # until all buffers on the way are full
            try:
                sent += slow.socket.send((request * 1000)[sent % len(request) :])
                stuck_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        received = (sent - _unacknowledged(slow.socket)) // len(request)
        assert received > 1000
        ns.send(signal.SIGTERM)
        assert len(slow.receive_many(received)) == received
        slow.close()
        assert ns.wait() == 0


def _unacknowledged(sock: socket.socket) -> int:
    """Return the bytes that the peer has not acknowledged."""
    return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4), sys.byteorder)


def test_a_late_reader_gets_every_answer(tmp_path: Path) -> None:
    count = 60
    with serving(tmp_path) as ns, Client(ns.address) as broker:
        assert broker.ask(register(topics=[f"topic-{number:06}" for number in range(10_000)])).code == 0
        with Client(ns.address, receive_buffer_bytes=4096) as slow:
            slow.send(b"".join(Request(code=206, opaque=opaque).encode() for opaque in range(count)))
            assert slow.receive_many(1)[0].code == 0
            ns.send(signal.SIGTERM)
            assert broker.receive() is None  # the server half-closes
            assert len(slow.receive_many(count - 1)) == count - 1
            assert slow.receive() is None
        assert ns.wait() == 0


def test_new_connections_are_refused(tmp_path: Path) -> None:
    with (
        serving(tmp_path, settings=GRACEFULLY) as ns,
        Client(ns.address) as client,
    ):
        ns.send(signal.SIGTERM)
        _wait_for_go_away(client)
        with pytest.raises(ConnectionRefusedError):
            Client(ns.address)


def test_idle_connections_do_not_delay_the_shutdown(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"routebook.drainSeconds": 3600}) as ns:
        clients = [Client(ns.address) for _ in range(5)]
        assert clients[0].ask(route("nowhere")).code == 17
        assert ns.stop() == 0
        for client in clients:
            client.close()


def test_a_peer_that_never_reads_is_closed_after_the_drain_time(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"routebook.drainSeconds": 1}) as ns, Client(ns.address) as broker:
        assert broker.ask(register(topics=[f"topic-{number:06}" for number in range(20_000)])).code == 0
        with Client(ns.address, receive_buffer_bytes=4096) as slow:
            slow.send(b"".join(Request(code=206, opaque=opaque).encode() for opaque in range(50)))
            assert slow.receive_many(1)[0].code == 0
            assert ns.stop() == 0


def _wait_for_go_away(client: Client) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if client.ask(route("nowhere")).code == 1500:
            return
    raise AssertionError("the server does not go away")


def test_go_away_for_clients_that_support_it(tmp_path: Path) -> None:
    with serving(tmp_path, settings=GRACEFULLY) as ns:
        with Client(ns.address) as client:
            ns.send(signal.SIGTERM)
            _wait_for_go_away(client)
            reply = client.ask(route("nowhere", version=476))
            assert (reply.code, reply.remark) == (1500, "please go away")
            assert client.ask(route("nowhere", version=475)).code == 17
            client.send(Request(code=105, flag=2, opaque=77).encode())
            assert client.ask(route("nowhere", opaque=78)).header["opaque"] == 78
        assert ns.wait() == 0  # the last connection is closed


@pytest.mark.parametrize(("second", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_the_process_at_once(tmp_path: Path, second: signal.Signals, code: int) -> None:
    with (
        serving(tmp_path, settings=GRACEFULLY) as ns,
        Client(ns.address) as client,
    ):
        ns.send(signal.SIGINT)
        _wait_for_go_away(client)
        ns.send(second)
        assert ns.wait() == code


def test_the_shutdown_records_no_broker_as_down(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as broker:
        assert broker.ask(register()).code == 0
        assert ns.stop() == 0
        assert "broker up" in ns.log
        assert "broker down" not in ns.log
        assert _last_line(ns).endswith("stopped  reason=SIGTERM")


def _last_line(ns: Process) -> str:
    return ns.log.strip().splitlines()[-1]

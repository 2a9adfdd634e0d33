"""`routebook watch` against a scripted port: streams, drops, silence, reconnection."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import pytest

from routebook.cli.commands.watch import EventWatcher
from routebook.client.http import HttpClient, HttpStatusError
from routebook.errors import NotANameServer, Unreachable
from routebook.journal.record import decode_record
from tests.support.command_line import routebook

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nretry: 2000\n: routebook\n\n"


def record(seq: int, *, boot: str = "b1") -> bytes:
    line = f'{{"v":1,"ns":"n","boot":"{boot}","seq":{seq},"at":1,"kind":"server_stopped","reason":"r"}}'
    return f"id: {seq}\ndata: {line}\n\n".encode()


class Port:
    """Answers each connection with the next of `answers`, and keeps what was asked."""

    def __init__(self, answers: Sequence[bytes | None]) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._answers = answers
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        held = []
        for answer in self._answers:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += connection.recv(65536)
            self.asked.append(asked.decode())
            connection.sendall(OK if answer is None else answer)
            if answer is None:
                held.append(connection)  # silent, but there
            else:
                connection.close()
        self._done.wait(20)
        for connection in held:
            connection.close()

    def close(self) -> None:
        self._done.set()
        self._socket.close()
        self._thread.join()


@pytest.fixture
def port() -> Iterator[Callable[..., Port]]:
    opened: list[Port] = []

    def open_port(*answers: bytes | None) -> Port:
        opened.append(Port(answers))
        return opened[-1]

    yield open_port
    for one in opened:
        one.close()


class Watched:
    """The first records that a watcher sees, and what it says meanwhile."""

    def __init__(self, url: str, count: int, *, after: int | None = None, silence_s: float = 20) -> None:
        self.said: list[str] = []
        self.waited: list[float] = []
        watcher = EventWatcher(
            HttpClient(url),
            {"topic": ["T é"]},
            after=after,
            silence_s=silence_s,
            sleep=self.waited.append,
            log=self.said.append,
        )
        self.seqs: list[int] = []
        events = watcher.events()
        for event in islice(events, count):
            seen = decode_record(event.data)
            watcher.check_restart(seen)
            self.seqs.append(seen.seq)


def test_a_new_connection_resumes_after_the_last_record(port: Callable[..., Port]) -> None:
    there = port(OK + record(7) + record(8), OK + record(9))
    seen = Watched(there.url, 3)
    assert seen.seqs == [7, 8, 9]
    first, second = there.asked
    assert "topic=T+%C3%A9" in first
    assert "last-event-id" not in first.lower()
    assert "last-event-id: 8" in second.lower()
    assert [line.partition(" ")[2] for line in seen.said] == [
        "closed the connection; reconnecting",
        "after record 8",
    ]


def test_keep_alives_advance_the_position(port: Callable[..., Port]) -> None:
    there = port(OK + record(7) + b": alive\nid: 12\n\n", OK + record(13))
    assert Watched(there.url, 2).seqs == [7, 13]
    assert "last-event-id: 12" in there.asked[1].lower()


def test_an_incomplete_event_is_requested_again(port: Callable[..., Port]) -> None:
    there = port(OK + record(7) + record(8)[:20], OK + record(8))
    assert Watched(there.url, 2).seqs == [7, 8]


def test_a_dropped_reader_resumes_at_once(port: Callable[..., Port]) -> None:
    dropped = b'event: dropped\nid: 7\ndata: {"resume_after":7,"why":"read too slowly"}\n\n'
    seen = Watched(port(OK + record(7) + dropped, OK + record(8)).url, 2)
    assert seen.seqs == [7, 8]
    assert seen.waited == [0]
    assert "dropped this reader: read too slowly; resuming after record 7" in seen.said[0]


def test_a_restart_is_reported(port: Callable[..., Port]) -> None:
    stopping = b'event: stopping\nid: 7\ndata: {"resume_after":7,"why":"the server stops"}\n\n'
    seen = Watched(port(OK + record(7) + stopping, OK + record(8, boot="b2")).url, 2)
    assert seen.seqs == [7, 8]
    assert "is stopping; waiting for it to return" in seen.said[0]
    assert seen.said[-1] == "the server was restarted"


def test_missing_records_are_reported(port: Callable[..., Port]) -> None:
    missing = b'event: missing\nid: 9\ndata: {"first":8,"last":9,"why":"not kept"}\n\n'
    reset = b'event: reset\ndata: {"last_event_id":99,"last_seq":3,"hint":"another\'s"}\n\n'
    seen = Watched(port(OK + reset + record(7) + missing + record(10)).url, 2, after=99)
    assert seen.said == ["the server has no record 99: another's", "records 8 to 9 are missing: not kept"]


def test_a_silent_server_is_reconnected(port: Callable[..., Port]) -> None:
    seen = Watched(port(None, OK + record(1)).url, 1, silence_s=0.05)
    assert seen.seqs == [1]
    assert "sent nothing for 0.05 s" in seen.said[0]


def test_the_retry_interval_grows(port: Callable[..., Port]) -> None:
    there = port(OK + record(7))
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        there.close()
        if len(waited) == 8:
            raise KeyboardInterrupt

    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        list(EventWatcher(HttpClient(there.url), {}, sleep=wait, log=said.append).events())
    assert waited == [0.5, 1, 2, 4, 8, 15, 15, 15]
    assert "cannot be reached" in said[-1]


def test_the_first_connection_must_succeed(port: Callable[..., Port]) -> None:
    gone = port()
    gone.close()
    with pytest.raises(Unreachable):
        Watched(gone.url, 1)
    ran = routebook("watch", "--http", gone.url)
    assert (ran.code, len(ran.err.splitlines())) == (3, 1)


def test_an_error_status_is_reported_with_its_hint(port: Callable[..., Port]) -> None:
    body = b'{"error":"2000 watch already","hint":"come back later"}'
    with pytest.raises(HttpStatusError, match=r"2000 watch already \(come back later\)"):
        Watched(port(b"HTTP/1.1 503 Busy\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)).url, 1)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nno", b"SSH-2.0-x\r\n"])
def test_another_protocol_on_the_port(port: Callable[..., Port], answer: bytes) -> None:
    with pytest.raises(NotANameServer):
        Watched(port(answer).url, 1)


def test_an_unknown_kind() -> None:
    ran = routebook("watch", "--kind", "broker_upp")
    assert ran.code == 2
    assert "broker_up" in ran.err

"""The HTTP client: responses, error statuses, broken peers, and the event stream."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from routebook.client import http as module
from routebook.client.http import HttpClient, HttpStatusError, Query, basic_authorization, path_segment
from routebook.errors import ConnectionFailed, NotANameServer, TimedOut, Unreachable, UsageError

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def response(body: bytes, status: str = "200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status.encode(), len(body), body)


class Port:
    """Accepts one connection, reads the request, sends the bytes; keeps the connection open if asked to."""

    def __init__(self, sent: bytes, *, hold: bool) -> None:
        self.request = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(sent, hold))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self, sent: bytes, hold: bool) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection:
            while b"\r\n\r\n" not in self.request:
                self.request += connection.recv(65536)
            connection.sendall(sent)
            if hold:
                self._released.wait(20)

    def close(self) -> None:
        self._released.set()
        with suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def port() -> Iterator[Callable[..., Port]]:
    opened: list[Port] = []

    def open_port(sent: bytes, *, hold: bool = False) -> Port:
        opened.append(Port(sent, hold=hold))
        return opened[-1]

    yield open_port
    for one in opened:
        one.close()


def test_get_decodes_the_response_and_sends_query_and_headers(port: Callable[..., Port]) -> None:
    server = port(response(b'{"a":1}'))
    client = HttpClient(f"{server.url}/prefix/", headers=basic_authorization("key", "secret"))
    query: Query = {"at": 5, "topic": ["x", "y z"], "none": None}
    assert client.get(f"/v1/{path_segment('a/b')}", dict[str, int], query) == {"a": 1}
    head = server.request.decode().lower()
    assert head.startswith("get /prefix/v1/a%2fb?at=5&topic=x&topic=y+z http/1.1\r\n")
    assert "authorization: basic a2v5onnly3jlda==\r\n" in head


def test_an_error_status_carries_error_and_hint(port: Callable[..., Port]) -> None:
    server = port(response(b'{"error":"no journal","hint":"use --home"}', "404 Not Found"))
    with pytest.raises(HttpStatusError, match=r"no journal \(use --home\)") as raised:
        HttpClient(server.url).get("/v1/x", dict)
    assert raised.value.status == 404


@pytest.mark.parametrize(
    "sent", [response(b"no", "404 No"), response(b"<html>"), response(b'"\xff"'), response(b"[" * 9999), b"SSH-2.0\r\n"]
)
def test_other_responses_are_not_a_routebook(port: Callable[..., Port], sent: bytes) -> None:
    with pytest.raises(NotANameServer):
        HttpClient(port(sent).url).get("/v1/x", dict)


def test_a_response_above_the_size_limit_is_rejected(
    port: Callable[..., Port], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_BYTES", 8)
    with pytest.raises(NotANameServer, match="sent more than"):
        HttpClient(port(response(b'"' + b"x" * 20 + b'"')).url).get("/v1/x", str)


def test_a_silent_or_closed_port_is_a_connection_failure(port: Callable[..., Port]) -> None:
    with pytest.raises(TimedOut, match=r"no response within 0\.05 s"):
        HttpClient(port(b"", hold=True).url, timeout_s=0.05).get("/v1/x", dict)
    gone = port(b"")
    gone.close()
    with pytest.raises(Unreachable, match="cannot be reached"):
        HttpClient(gone.url).get("/v1/x", dict)


@pytest.mark.parametrize("url", ["ftp://h", "http://", "http://h:0", "http://h:x", "http://h/?q=1"])
def test_an_invalid_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="not a server's address"):
        HttpClient(url)


def test_events_resume_after_an_id_and_report_positions(port: Callable[..., Port]) -> None:
    server = port(STREAM + b": alive\nid: 8\n\nid: 9\ndata: x\n\n")
    with HttpClient(server.url).events(last_id="7") as stream:
        assert [(event.id, event.name, event.data) for event in stream.with_positions()] == [
            ("8", "position", b""),
            ("9", "message", b"x"),
        ]
    assert b"last-event-id: 7\r\n" in server.request


def test_a_silent_stream_times_out(port: Callable[..., Port]) -> None:
    with (
        HttpClient(port(STREAM, hold=True).url).events(silence_s=0.05) as stream,
        pytest.raises(TimedOut, match=r"sent nothing for 0\.05 s"),
    ):
        list(stream)


def test_another_thread_can_abort_a_stream(port: Callable[..., Port]) -> None:
    with HttpClient(port(STREAM + b"data: x\n\n", hold=True).url).events(silence_s=20) as stream:
        events = iter(stream)
        assert next(events).data == b"x"
        aborting = threading.Thread(target=stream.abort)
        aborting.start()
        with suppress(ConnectionFailed):
            assert list(events) == []
        aborting.join()

"""A console without a browser: receives the WebSocket messages of the server."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

TIMEOUT_S: Final = 60.0


class LiveConsole:
    """Applies the messages to its state, as a page does."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.hello: dict[str, Any] = {}
        self.overview: dict[str, Any] = {}
        self.brokers: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []

    def say(self, message: object) -> None:
        self.say_text(json.dumps(message))

    def say_text(self, text: str) -> None:
        self._socket.send(text)

    def ping(self) -> None:
        """Wait until the server has read everything that was sent before."""
        assert self._socket.ping().wait(TIMEOUT_S)

    def take_all(self) -> None:
        """Receive messages until the end of the connection: raises ConnectionClosed."""
        while True:
            self.take()

    def take(self, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
        """Receive and apply the next message; raises TimeoutError or ConnectionClosed."""
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=timeout_s))
        match message["type"]:
            case "hello":
                self.hello = message
            case "snapshot":
                self.overview = message["overview"]
                self.brokers = {row["key"]: row for row in message["brokers"]}
            case "overview":
                self.overview = message["overview"]
            case "brokers":
                self.brokers.update({row["key"]: row for row in message["changed"]})
                for key in message["gone"]:
                    del self.brokers[key]
            case "beats":
                for key, seen in message["seen"].items():
                    self.brokers[key]["last_seen_ms"] = seen
            case "events":
                self.events += message["events"]
            case _:
                self.others.append(message)
        return message

    def until(self, condition: Callable[[], bool], *, within_s: float = TIMEOUT_S) -> float:
        """Receive messages until the condition holds; return the time it took."""
        began = time.monotonic()
        while not condition():
            left = began + within_s - time.monotonic()
            if left <= 0:
                raise AssertionError(f"not within {within_s} s; {self.overview} {self.brokers} {self.events[-5:]}")
            self.take(left)
        return time.monotonic() - began

    def until_closed(self) -> tuple[int, str]:
        """Receive messages until the server closes: its code and reason; (0, "") without a close frame."""
        try:
            while True:
                self.take()
        except ConnectionClosed as closed:
            return (0, "") if closed.rcvd is None else (closed.rcvd.code, closed.rcvd.reason)

    def states(self) -> dict[str, str]:
        """State by broker name and address."""
        return {f"{row['name']} {row['addr']}": row["state"] for row in self.brokers.values()}


@contextmanager
def live_console(url: str, *, query: str = "", origin: str | None = None, **more: Any) -> Iterator[LiveConsole]:
    """A connected console that has received the first snapshot."""
    address = url.removeprefix("http://")
    page = None if origin is None else Origin(origin)
    with connect(f"ws://{address}/v1/live{query}", origin=page, compression=None, **more) as socket:
        console = LiveConsole(socket)
        assert console.take()["type"] == "hello"
        assert console.take()["type"] == "snapshot"
        yield console

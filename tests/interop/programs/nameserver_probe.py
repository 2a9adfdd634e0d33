"""Queries one NameServer for brokers, topics and routes, and waits for expected results."""

import time
from collections.abc import Callable
from typing import Any, Final

from tests.support.compare import parse_body
from tests.support.remoting_frames import Link, Reply, Request

WAIT_S: Final = 180.0  # a broker registers at its start and 10 s later; generous for a busy machine


class Server:
    """Sends the requests of mqadmin to one NameServer, Java or Routebook."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.host_port = address
        self.address = f"{address[0]}:{address[1]}"

    def ask(self, code: int, **ext: str) -> Reply:
        with Link(self.host_port) as link:  # a new connection: an idle one would be closed between two tests
            return link.ask(Request(code=code, opaque=1, ext=ext))

    def ask_text(self, code: int, body: str) -> Reply:
        """A request with a body, such as 318."""
        with Link(self.host_port) as link:
            return link.ask(Request(code=code, opaque=1, ext={}, body=body.encode()))

    def body(self, code: int, **ext: str) -> Any:
        reply = self.ask(code, **ext)
        assert reply.code == 0, reply
        return parse_body(reply.body)

    def topics(self) -> set[str]:
        return set(self.body(206)["topicList"])

    def route(self, topic: str) -> Any:
        """The route of a topic, or None."""
        reply = self.ask(105, topic=topic)
        return parse_body(reply.body) if reply.code == 0 else None

    def members(self, broker: str) -> dict[int, str]:
        """The addresses of a group by id, from 106."""
        group = self.body(106)["brokerAddrTable"].get(broker)
        return {} if group is None else {_number(key): addr for key, addr in group["brokerAddrs"].items()}

    def route_members(self, topic: str, broker: str) -> dict[int, str]:
        """The same from the route of a topic."""
        route = self.route(topic) or {"brokerDatas": []}
        return {
            _number(key): addr
            for data in route["brokerDatas"]
            if data["brokerName"] == broker
            for key, addr in data["brokerAddrs"].items()
        }

    def wait_for_members(self, broker: str, ids: set[int], *, timeout_s: float = WAIT_S) -> None:
        """Wait until the group has these members."""
        wait_until(lambda: set(self.members(broker)) == ids, f"{broker} has members {ids}", timeout_s=timeout_s)


def wait_until(happened: Callable[[], bool], what: str, *, timeout_s: float = WAIT_S) -> float:
    """Wait, and return the duration in seconds."""
    start = time.monotonic()
    while not happened():
        assert time.monotonic() - start < timeout_s, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - start


def _number(key: str) -> int:
    """Parse a key that Java may write as a bare number."""
    return int(key.removeprefix("bare:"))

"""One of the compared servers: its named connections and its replies."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.support.compare import parse_body
from tests.support.differential.steps import Ask, Expectation
from tests.support.remoting_frames import Link, Reply, Request, Silence

PROBE: Final = Request(code=9998, opaque=77_777_777)  # the reply has code 3 in any state
QUIET_S: Final = 0.25  # wait for a reply that may not come, before the probe
PROBE_TIMEOUT_S: Final = 1.0
RESET_TIMEOUT_S: Final = 1.0  # then the next, stronger way to empty the server
SETTLE_TIMEOUT_S: Final = 30.0
VIEW: Final = "view"  # the connection for queries of the harness
ORDERS: Final = "ORDER_TOPIC_CONFIG"
# waitSecondsForService: the servers started at different times, so the waiting period must never end or never start
FIRST_SETTINGS: Final = b"""\
deleteTopicWithBrokerRegistration=false
enableAllTopicList=true
enableTopicList=true
needWaitForService=false
notifyMinBrokerIdChanged=false
orderMessageEnable=false
returnOrderTopicConfigToBroker=true
supportActingMaster=false
waitSecondsForService=100000
"""
RESTART_DEFAULTS: Final = b"defaultThreadPoolNums=16\nscanNotActiveBrokerInterval=5000\n"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back: frames, perhaps a close, perhaps bytes that are no frame, or nothing at all."""

    replies: tuple[Reply, ...] = ()
    closed: bool = False
    leftover: bytes = b""
    silent: bool = False  # not even the probe sent after it was answered: the server waits for more bytes

    def __str__(self) -> str:
        parts = [repr(reply.raw[8:].decode(errors="backslashreplace")) for reply in self.replies]
        parts += [f"bytes {self.leftover!r}"] if self.leftover else []
        parts += ["closes"] if self.closed else []
        parts += ["waits for more"] if self.silent else []
        return ", ".join(parts) or "no answer"


class Endpoint:
    """A server under comparison."""

    def __init__(self, name: str, restart: Callable[[], tuple[str, int]]) -> None:
        self.name = name
        self._restart = restart
        self.address = restart()
        self._links: dict[str, Link] = {}
        self._opaque = 1_000_000

    def exchange(self, conn: str, data: bytes, *, expect: Expectation) -> Answer:
        """Send bytes over a connection (opened if need be) and collect what comes back."""
        if conn == "new":
            with Link(self.address) as link:
                return self._collect(link, data, expect)
        link = self._link(conn)
        answer = self._collect(link, data, expect)
        if answer.closed:
            self.drop(conn)
        return answer

    def _collect(self, link: Link, data: bytes, expect: Expectation) -> Answer:
        link.send(data)
        if expect == "nothing":
            link.send(PROBE.encode())
        replies: list[Reply] = []
        try:
            while True:
                raw = self._receive(link, expect)
                if raw is None:
                    return Answer(replies=tuple(replies), closed=True, leftover=link.leftover)
                reply = Reply.parse(raw)
                if reply.header["opaque"] == PROBE.opaque:
                    return Answer(replies=tuple(replies))
                replies.append(reply)
                if expect != "nothing":
                    return Answer(replies=tuple(replies))
        except Silence:
            return Answer(replies=tuple(replies), silent=True, leftover=link.leftover)

    def _receive(self, link: Link, expect: Expectation) -> bytes | None:
        if expect != "anything":
            return link.receive()
        try:
            return link.receive(timeout_s=QUIET_S)
        except Silence:
            link.send(PROBE.encode())
            began = time.monotonic()
            self.ask(PROBE.code)
            round_trip_s = time.monotonic() - began  # long on a busy machine
            return link.receive(timeout_s=max(PROBE_TIMEOUT_S, 50 * round_trip_s))

    def ask(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> Reply:
        """Send a query of the harness."""
        self._opaque += 1
        return self._link(VIEW).ask(Request(code=code, ext=ext, body=body, opaque=self._opaque))

    def ask_all(self, questions: Sequence[Ask], tag: str) -> list[Reply]:
        """Pipeline many queries; the replies are in the order of the queries."""
        link = self._link(VIEW)
        for question in questions:
            link.send(question.data(tag))
        answers: dict[int, Reply] = {}
        while len(answers) < len(questions):
            raw = link.receive()
            assert raw is not None, f"{self.name} closed the connection"
            reply = Reply.parse(raw)
            answers[reply.header["opaque"]] = reply
        return [answers[question.opaque] for question in questions]

    def cluster_info(self) -> dict[str, Any]:
        """The parsed reply to 106."""
        info: dict[str, Any] = parse_body(self.ask(106).body)
        return info

    def is_live(self, cluster: str, addr: str) -> bool:
        """Whether this address has a lease. The query is a heartbeat, which renews the lease."""
        ext = {"clusterName": cluster, "brokerAddr": addr, "brokerName": "", "brokerId": "0"}
        return bool(self.ask(322, ext).body)

    def is_gone(self, cluster: str, addr: str) -> bool:
        return not self.is_live(cluster, addr)

    def until(self, happened: Callable[[], bool], *, timeout_s: float = SETTLE_TIMEOUT_S) -> bool:
        """Wait for a delayed effect; false after the timeout."""
        deadline = time.monotonic() + timeout_s
        while not happened():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def barrier(self) -> None:
        """Wait for all earlier unregistrations: they share a queue, and this one is its last entry."""
        self._opaque += 1
        name = f"barrier-{self._opaque}"
        ext = {"clusterName": name, "brokerName": name, "brokerAddr": name, "brokerId": "0"}
        self.ask(103, ext, b'{"topicConfigSerializeWrapper":{"topicConfigTable":{}}}')
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        gone = False
        while not gone and time.monotonic() < deadline:
            self.ask(104, ext)  # repeated: in Java a bad unregistration discards its whole batch
            gone = self.until(partial(self.is_gone, name, name), timeout_s=0.2)
        self.ask(304)  # waits for the lock of the batch

    def keep_alive(self) -> None:
        """Send a request over every connection, so that none is idle for too long."""
        for conn in tuple(self._links):
            self.exchange(conn, PROBE.encode(), expect="answer")

    def reset(self) -> None:
        """Return to an empty server with the initial settings; restart it if necessary."""
        self.close()
        if not self.until(self.is_empty, timeout_s=RESET_TIMEOUT_S):
            self._unregister_all()
            if not self.until(self.is_empty, timeout_s=RESET_TIMEOUT_S):
                self.close()
                self.address = self._restart()
        assert self.is_empty(), f"{self.name} is not empty"
        # a namespace is never removed, so this one exists from the start
        self.ask(100, {"namespace": ORDERS, "key": "any", "value": "any"})
        for key in parse_body(self.ask(219, {"namespace": ORDERS}).body)["table"]:
            self.ask(102, {"namespace": ORDERS, "key": key})
        for text in (FIRST_SETTINGS, RESTART_DEFAULTS):
            assert self.ask(318, body=text).code == 0

    def is_empty(self) -> bool:
        """Whether no broker is registered."""
        info = self.cluster_info()
        return not info["brokerAddrTable"] and not info["clusterAddrTable"]

    def _unregister_all(self) -> None:
        for name, group in self.cluster_info()["brokerAddrTable"].items():
            for addr in group["brokerAddrs"].values() or ["none"]:
                ext = {"clusterName": group["cluster"], "brokerName": name, "brokerAddr": addr or "", "brokerId": "0"}
                self.ask(104, ext)

    def is_closed(self, conn: str, *, timeout_s: float) -> bool:
        """Whether the server closes this connection in time."""
        try:
            return self._link(conn).receive(timeout_s=timeout_s) is None
        except Silence:
            return False

    @property
    def connections(self) -> set[str]:
        """Names of the open connections."""
        return set(self._links)

    def drop(self, conn: str) -> None:
        """Close a connection."""
        if conn in self._links:
            self._links.pop(conn).close()

    def close(self) -> None:
        for conn in tuple(self._links):
            self.drop(conn)

    def _link(self, conn: str) -> Link:
        if conn not in self._links:
            self._links[conn] = Link(self.address)
        return self._links[conn]

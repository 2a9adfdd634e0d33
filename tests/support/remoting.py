"""A blocking remoting client for end-to-end tests: sends bytes in any chunks, over TLS or plain TCP."""

import json
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Final

from tests.support.remoting_frames import ANSWER_TIMEOUT_S, Link, Reply, Request

KV_NAMESPACE: Final = "tests"


class Client(Link):
    """One connection: sends `before` first (a PROXY header), then starts TLS if it has a context."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        before: bytes = b"",
        tls: ssl.SSLContext | None = None,
        receive_buffer_bytes: int | None = None,
    ) -> None:
        plain = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            if receive_buffer_bytes is not None:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(ANSWER_TIMEOUT_S)
            plain.connect(address)
            plain.sendall(before)
            self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
        except BaseException:
            plain.close()
            raise
        self._pending = b""

    @property
    def socket(self) -> socket.socket:
        return self._socket

    def send_chunks(self, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self._socket.sendall(chunk)

    def receive_many(self, count: int) -> list[Reply]:
        """The next `count` replies, in order of arrival."""
        replies: list[Reply] = []
        for _ in range(count):
            raw = self.receive()
            if raw is None:
                raise AssertionError(f"the server closed the connection after {len(replies)} of {count} answers")
            replies.append(Reply.parse(raw))
        return replies

    def receive_rest(self) -> bytes:
        """All bytes until the server closes the connection."""
        rest = self._pending
        self._pending = b""
        self._socket.settimeout(ANSWER_TIMEOUT_S)
        while True:
            try:
                chunk = self._socket.recv(1 << 16)
            except ConnectionResetError:
                return rest
            if not chunk:
                return rest
            rest += chunk

    def is_closed_by_server(self, *, within_s: float = ANSWER_TIMEOUT_S) -> bool:
        """Whether the server closes the connection without sending anything."""
        self._socket.settimeout(within_s)
        try:
            return self._socket.recv(1) == b""
        except (ConnectionResetError, BrokenPipeError):
            return True
        except ssl.SSLError:
            return True


def trusting_anybody() -> ssl.SSLContext:
    """A TLS context as RocketMQ clients have by default: certificates are not verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def route(topic: str, *, opaque: int = 1, version: int = 513) -> Request:
    return Request(code=105, opaque=opaque, ext={"topic": topic}, version=version)


def put_kv(key: str, value: str, *, opaque: int = 1) -> Request:
    return Request(code=100, opaque=opaque, ext={"namespace": KV_NAMESPACE, "key": key, "value": value})


def get_kv(key: str, *, opaque: int = 1) -> Request:
    return Request(code=101, opaque=opaque, ext={"namespace": KV_NAMESPACE, "key": key})


def register(
    *,
    broker: str = "broker-a",
    broker_id: int = 0,
    addr: str = "127.0.0.1:10911",
    cluster: str = "c1",
    topics: Iterable[str] = ("TopicTest", "TopicMore"),
    acting_master: bool = False,
    timeout_ms: int | None = None,
    opaque: int = 1,
) -> Request:
    """A registration as a 5.x broker sends it."""
    table = {
        topic: {"topicName": topic, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "topicSysFlag": 0}
        for topic in topics
    }
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1_700_000_000_000}
    wrapper = {"dataVersion": version, "topicConfigTable": table}
    ext = {
        "brokerName": broker,
        "brokerAddr": addr,
        "clusterName": cluster,
        "haServerAddr": addr,
        "brokerId": str(broker_id),
        "enableActingMaster": str(acting_master).lower(),
    }
    if timeout_ms is not None:
        ext["heartbeatTimeoutMillis"] = str(timeout_ms)
    body = json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode()
    return Request(code=103, opaque=opaque, ext=ext, body=body)


def eventually(condition: Callable[[], bool], what: str, *, within_s: float = 60.0) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        time.sleep(0.01)

"""Look-ups at a fixed rate beside other traffic, and the latency of each from the time at which it was due."""

import socket
import threading
import time
from typing import Final, Self

from tests.support.remoting_frames import Request

_CONNECTIONS: Final = 20


class LookUpProber:
    """Sends `rate` look-ups per second over some connections. Latency counts from the planned time of sending."""

    def __init__(self, address: tuple[str, int], topics: list[str], *, rate: int) -> None:
        self._address = address
        self._topics = topics
        self._interval_s = _CONNECTIONS / rate
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(_CONNECTIONS)]
        self.took_s: list[float] = []
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(120)

    def percentile_ms(self, share: float) -> float:
        return round(sorted(self.took_s)[int(len(self.took_s) * share)] * 1000, 1)

    def _run(self, number: int) -> None:
        requests = [Request(code=105, opaque=7, ext={"topic": topic}).encode() for topic in self._topics]
        due = time.perf_counter() + self._interval_s * number / _CONNECTIONS
        turn = number
        try:
            with socket.create_connection(self._address, timeout=60) as link, link.makefile("rb") as received:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while not self._done.wait(max(0.0, due - time.perf_counter())):
                    began = max(due, time.perf_counter() - self._interval_s)  # excludes a pause of this thread
                    link.sendall(requests[turn % len(requests)])
                    size = int.from_bytes(received.read(4), "big")
                    answer = received.read(size)
                    self.took_s.append(time.perf_counter() - began)
                    if b'"code":0' not in answer[:16]:
                        self.failures.append(repr(answer[:200]))
                    turn += 1
                    due = max(due + self._interval_s, time.perf_counter() - self._interval_s)
        except OSError as error:
            self.failures.append(repr(error))

"""A server under attack and a client that keeps sending look-ups to it; records latency and memory of both."""

import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.process import Process, serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, eventually, register
from tests.support.remoting_frames import Request

TOPIC: Final = "WatchedTopic"
ALLOWANCE_BYTES: Final = 64 << 20  # permitted growth after an attack
_LOOK_UP: Final = Request(code=105, ext={"topic": TOPIC})
_REGISTRATION: Final = register(
    broker="watched-broker", addr="127.0.0.1:40911", cluster="watched", topics=[TOPIC, "WatchedToo"]
)
_PAUSE_S: Final = 0.005
_REGISTER_S: Final = 10.0
_MEMORY_S: Final = 30.0


class AttackedServer:
    """The process under attack."""

    def __init__(self, process: Process, home: Path) -> None:
        self.process = process
        self.home = home
        self.figures: dict[str, float] = {}

    @property
    def address(self) -> tuple[str, int]:
        return self.process.address

    def peak_bytes(self) -> int:
        """Peak resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class _Prober(threading.Thread):
    """A broker that registers periodically, and a client that looks up its route continuously and must find it."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(daemon=True)
        self._client = Client(address)
        self._broker = Client(address)
        self._done = threading.Event()
        self.took_s: list[float] = []
        self.problem: BaseException | None = None

    def run(self) -> None:
        registered = float("-inf")
        try:
            while not self._done.wait(_PAUSE_S):
                began = time.perf_counter()
                if began - registered > _REGISTER_S:
                    assert self._broker.ask(_REGISTRATION).code == 0
                    registered = began = time.perf_counter()
                reply = self._client.ask(_LOOK_UP)
                self.took_s.append(time.perf_counter() - began)
                assert reply.code == 0, reply
        except BaseException as problem:  # noqa: BLE001  raised again at the end of the attack
            self.problem = problem

    def begin(self) -> None:
        """Wait until look-ups are answered, and discard the measurements so far."""
        self.wait_for_more(20)
        self.took_s = []

    def wait_for_more(self, count: int) -> None:
        wanted = len(self.took_s) + count
        eventually(lambda: len(self.took_s) >= wanted or self.problem is not None, "look-ups are answered")

    def end(self) -> None:
        """Wait for one more look-up after the attack; fail if any look-up was not answered."""
        self.wait_for_more(1)
        self._done.set()
        self.join(60)
        self._client.close()
        self._broker.close()
        if self.problem is not None:
            raise AssertionError("a look-up was not answered during the attack") from self.problem

    def p99_ms(self) -> float:
        return round(sorted(self.took_s)[int(len(self.took_s) * 0.99)] * 1000, 1)


@contextmanager
def under_attack(
    home: Path, reliability_report: ReliabilityReport, name: str, *, settings: Mapping[str, object] | None = None
) -> Iterator[AttackedServer]:
    """Run the block as an attack: look-ups must be answered meanwhile, and memory must return to its level before."""
    with serving(home, http="127.0.0.1:0", settings=settings) as process:
        try:
            process.wait_until_http()
            prober = _Prober(process.address)
            prober.start()
            prober.begin()
            server, before = AttackedServer(process, home), process.resident_bytes()
            try:
                yield server
            finally:
                prober.end()
            peak = server.peak_bytes()
            eventually(
                lambda: process.resident_bytes() < before + ALLOWANCE_BYTES,
                "memory returns to its level before the attack",
                within_s=_MEMORY_S,
            )
            reliability_report.add(
                "attacks",
                name,
                **server.figures,
                look_ups=len(prober.took_s),
                p99_ms=prober.p99_ms(),
                limits_hit=_limits_hit(process),
                mib_before=before >> 20,
                mib_peak=peak >> 20,
                mib_after=process.resident_bytes() >> 20,
            )
            assert process.exit_code is None
        except BaseException as error:
            error.add_note(f"log of the server:\n{process.log[-4000:]}")
            raise


def _limits_hit(process: Process) -> int:
    """The number of exceeded limits in the server's metrics."""
    with urllib.request.urlopen(process.wait_until_http() + "/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("routebook_limits_exceeded_total{"))

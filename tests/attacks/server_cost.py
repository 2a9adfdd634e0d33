"""What an input costs a server process: CPU seconds of all its threads, and resident memory, read from /proc."""

import contextlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.process import Process
from tests.support.remoting import eventually

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_QUIET_S: Final = 0.25
_QUIET_CPU_S: Final = 0.02


class ServerCost(NamedTuple):
    """CPU seconds, and by how much resident memory grew."""

    cpu_s: float
    grown_bytes: int


def cost_of(process: Process, attack: Callable[[], object], *, repeat: int = 1) -> ServerCost:
    """The cost of one attack: the lowest of `repeat` runs, because CPU time grows while other processes compete."""
    costs = []
    for _ in range(repeat):
        wait_until_quiet(process)
        memory, cpu = process.resident_bytes(), cpu_seconds(process)
        attack()
        wait_until_quiet(process)
        costs.append(ServerCost(cpu_seconds(process) - cpu, process.resident_bytes() - memory))
    return min(costs)


def cpu_seconds(process: Process) -> float:
    """User and system time of the process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def cpu_ns(pid: int) -> int:
    """CPU time of the living threads of a process so far, in nanoseconds."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it ended meanwhile
            total += int((thread / "schedstat").read_text().split()[0])
    return total


def send_frames(address: tuple[str, int], data: bytes, answers: int = 1) -> None:
    """Send frames and read the answers, or the end of the connection."""
    with socket.create_connection(address, timeout=60) as link, contextlib.suppress(ConnectionError):
        link.sendall(data)
        with link.makefile("rb", buffering=1 << 20) as received:
            for _ in range(answers):
                size = received.read(4)
                if len(size) < 4 or not received.read(int.from_bytes(size, "big")):
                    break


def loop_seconds(process: Process) -> float:
    """User and system time of the main thread so far: the one that runs the event loop."""
    fields = Path(f"/proc/{process.pid}/task/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def wait_until_quiet(process: Process) -> None:
    """Wait until the process does nothing: also its threads have finished what the last input caused."""
    before = [cpu_seconds(process), time.monotonic()]

    def is_quiet() -> bool:
        if time.monotonic() - before[1] < _QUIET_S:
            return False
        now = cpu_seconds(process)
        spent, before[:] = now - before[0], [now, time.monotonic()]
        return spent <= _QUIET_CPU_S

    eventually(is_quiet, "the server is idle", within_s=300)

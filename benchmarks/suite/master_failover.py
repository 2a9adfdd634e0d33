"""Failover after the death of a master, with one Controller of each kind; rounds alternate, and so does their order.

A pair of real brokers: kill -9 of the master until the Controller names the other one, and until that accepts a write.
Simulated brokers, many times: the master's connection closes until 1008 arrives at the other one. This is the
Controller's own part; the rest of the first figure is the end of one JVM and the change of role in another.
"""

import signal
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.support.controlled_brokers import Brokers
from tests.support.controllers import (
    java_controller,
    java_nameserver_with_controller,
    routebook_controller,
    routebook_nameserver_with_controller,
)
from tests.support.remoting_frames import Link, Reply, Request

Figures = dict[tuple[str, str], list[float]]  # by figure and kind, in seconds

WRITES: Final = "master killed until the other broker accepts a write"
ENDED: Final = "master killed until its process has ended"
ELECTED: Final = "master killed until the Controller names another"
OWN: Final = "process of the master ended until the other broker accepts a write"
NOTIFIED: Final = "master's connection closed until the other has 1008"
_PAIRS: Final = {"Routebook": routebook_nameserver_with_controller, "Java": java_nameserver_with_controller}
_SINGLE: Final = {"Routebook": routebook_controller, "Java": java_controller}
_WARM_UP: Final = 50


def measure_pairs(folder: Path, rounds: int) -> Figures:
    figures: Figures = {}
    with ExitStack() as stack:
        pairs: dict[str, Brokers] = {}
        for kind, start in _PAIRS.items():
            nameserver, controller = stack.enter_context(start(folder / kind / "ns"))
            pairs[kind] = Brokers(folder / kind, nameserver, controller, stack)
            pairs[kind].start_pair()
        for number in range(rounds):
            for kind in _in_turns(number, pairs):
                for brokers in pairs.values():  # also the other pair: a broker that starts needs the processor
                    brokers.wait_in_sync(*brokers.running)
                taken = _kill_master(pairs[kind])
                taken[OWN] = taken[WRITES] - taken[ENDED]
                for what, seconds in taken.items():
                    figures.setdefault((what, kind), []).append(seconds)
                shown = ", ".join(f"{what.strip()} {seconds:.3f} s" for what, seconds in taken.items())
                print(f"round {number}: {kind}: {shown}", flush=True)
    return figures


def _kill_master(brokers: Brokers) -> dict[str, float]:
    """Seconds from the kill until each step."""
    master = brokers.master
    process = brokers.running[master].process
    with ThreadPoolExecutor(2) as threads:
        began = time.monotonic()
        brokers.send_signal(master, signal.SIGKILL)
        ended = threads.submit(lambda: process.wait() * 0 + time.monotonic() - began)
        elected = threads.submit(_seconds_until_elected, brokers, master, began)
        brokers.seconds_until_new_master(master, lambda: None)
        writes_s = time.monotonic() - began
        taken = {ENDED: ended.result(), ELECTED: elected.result(), WRITES: writes_s}
    brokers.restart(master)
    return taken


def _seconds_until_elected(brokers: Brokers, old: str, began: float) -> float:
    while brokers.controller.state() is None or brokers.master == old:
        time.sleep(0.01)
    return time.monotonic() - began


# --- simulated brokers ------------------------------------------------------------------------------------------------


class Survivor:
    """The other broker of every set: takes notifications at its port."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._connection: socket.socket | None = None

    def wait_until_master(self) -> float:
        """The time at which 1008 names it as master."""
        if self._connection is None:
            self._connection, _ = self._listener.accept()
        while True:
            raw = self._read(4)
            notice = Reply.parse(raw + self._read(int.from_bytes(raw, "big")))
            if notice.ext["masterBrokerId"] == "2":
                return time.monotonic()

    def close(self) -> None:
        self._listener.close()
        if self._connection is not None:
            self._connection.close()

    def _read(self, size: int) -> bytes:
        assert self._connection is not None
        data = b""
        while len(data) < size:
            more = self._connection.recv(size - len(data))
            assert more, "the Controller closed the connection"
            data += more
        return data


def measure_notices(folder: Path, rounds: int) -> Figures:
    figures: Figures = {}
    with ExitStack() as stack:
        made = {kind: stack.enter_context(_with_survivor(kind, folder / kind)) for kind in _SINGLE}
        for number in range(-_WARM_UP, rounds):
            for kind in _in_turns(number, made):
                took = _notified_after(*made[kind], f"set-{number}")
                if number >= 0:
                    figures.setdefault((NOTIFIED, kind), []).append(took)
    return figures


@contextmanager
def _with_survivor(kind: str, home: Path) -> Iterator[tuple[tuple[str, int], Survivor, Link]]:
    with _SINGLE[kind](home) as address:
        host, _, port = address.rpartition(":")
        survivor = Survivor()
        try:
            with Link((host, int(port))) as link:
                yield (host, int(port)), survivor, link
        finally:
            survivor.close()


def _notified_after(controller: tuple[str, int], survivor: Survivor, link: Link, name: str) -> float:
    """Make a set of two in sync, close the master's connection, and wait for the survivor's 1008."""
    with Link(controller) as master:
        for number, broker, address in ((1, master, "127.0.0.1:1"), (2, link, survivor.address)):
            _ask(broker, 1013, name, appliedBrokerId=number, registerCheckCode=f"{address};7")
            _ask(broker, 904, name, brokerId=number, brokerAddr=address)
        _ask(master, 1002, name, brokerId=1)
        members = b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}'
        _ask(master, 1001, name, members, masterBrokerId=1, masterEpoch=1)
        began = time.monotonic()
    return survivor.wait_until_master() - began


def _ask(link: Link, code: int, name: str, body: bytes = b"", **fields: object) -> None:
    ext = {"clusterName": "C1", "brokerName": name, **{key: str(value) for key, value in fields.items()}}
    reply = link.ask(Request(code=code, ext=ext, body=body))
    assert reply.code == 0, reply


def _in_turns(number: int, kinds: Mapping[str, object]) -> list[str]:
    """The kinds, in the other order every second round."""
    names = list(kinds)
    return names if number % 2 else names[::-1]

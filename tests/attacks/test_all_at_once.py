"""All attacks at the same time against a server with 300 brokers, while honest clients look up routes.

`--attack-seconds 600` is the long form (`make reliability-attacks`). The attackers have an address of their own.
"""

import contextlib
import multiprocessing
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.attacks import hostile_input
from tests.attacks.announcement_storm import registered_storm, topic_names
from tests.attacks.attacked_server import AttackedServer
from tests.attacks.look_up_prober import LookUpProber
from tests.attacks.server_cost import cpu_seconds
from tests.fuzz.mutation import mutations, seeds
from tests.support.process import Process, serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import put_kv
from tests.support.remoting_frames import Request

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Event

BROKERS: Final = 300
TOPICS: Final = 100
RATE: Final = 200  # look-ups per second
HEARTBEAT_S: Final = 20.0
MAX_GROWTH_BYTES: Final = 512 << 20  # routebook.limits.bufferBytes
ATTACKER: Final = "127.0.0.2"
MIB: Final = 1 << 20


def attacks() -> dict[str, Callable[[], bytes]]:
    """The bytes of each attack; one that changes from time to time returns others."""
    numbers, mutated = count(1), mutations(seeds("frames"), random.Random(16))
    loose_version = hostile_input.loose_data_version(4 * MIB)
    bomb = hostile_input.deflated_registration(broker="bomb", data_version=loose_version).encode()
    lists = b"".join(Request(code=code, ext={"cluster": "hostile"}).encode() for code in (206, 224, 311, 312, 313)) * 25
    switch = b"".join(Request(code=code, ext={"brokerName": "storm-0"}).encode() for code in (205, 327)) * 5
    loose_route = Request(code=217, ext={"topic": "T"}, body=hostile_input.loose_route(2 * MIB)).encode()
    header, proxy = (
        hostile_input.header_with_objects(768 << 10),
        hostile_input.unfinished_proxy_header(announced=16_000, sent=15_000),
    )
    return {
        "inflating DataVersion": lambda: bomb,
        "header with objects": lambda: header,
        "217 in loose JSON": lambda: loose_route,
        "pipelined lists": lambda: lists,
        "permissions": lambda: switch,
        "unfinished PROXY header": lambda: proxy,
        "KV writes": lambda: b"".join(put_kv(f"k{next(numbers) % 5000}", "v" * 200).encode() for _ in range(20)),
        "brokers that come and go": lambda: hostile_input.registration(
            f"passing-{next(numbers)}", topic_names(200), counter=next(numbers)
        ).encode(),
        "new topics": lambda: hostile_input.registration(
            "renamed", [f"t{next(numbers)}" for _ in range(2000)], counter=next(numbers)
        ).encode(),
        "mutated frames": lambda: b"".join(islice(mutated, 50)),
        "no bytes at all": lambda: b"",
    }


class Attack(threading.Thread):
    """Sends the same kind of bytes over new connections until the end, and reads answers for a moment."""

    def __init__(self, address: tuple[str, int], data: Callable[[], bytes], ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._data = data
        self._ended = ended
        self.sent = 0

    def run(self) -> None:
        while not self._ended.is_set():
            with (
                contextlib.suppress(OSError),
                socket.create_connection(self._address, timeout=2, source_address=(ATTACKER, 0)) as link,
            ):
                link.sendall(self._data())
                self.sent += 1
                link.settimeout(0.2)
                while not self._ended.is_set() and link.recv(1 << 18):
                    pass
            self._ended.wait(0.02)


def attack_until(
    ended: "Event", address: tuple[str, int], http: tuple[str, int], sent: "Queue[dict[str, int]]"
) -> None:
    """A process of its own, so that it takes no time from the clients that measure."""
    cookie = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: %b\r\nConnection: close\r\n\r\n"
    request, stop = cookie % hostile_input.quoted_cookie(31_000), threading.Event()
    threads = {name: Attack(address, data, stop) for name, data in attacks().items()}
    threads["long cookies"] = Attack(http, lambda: request, stop)
    for thread in threads.values():
        thread.start()
    ended.wait()
    stop.set()
    for thread in threads.values():
        thread.join(60)
    sent.put({name: thread.sent for name, thread in threads.items()})


@contextlib.contextmanager
def attacked(process: Process) -> Iterator["Queue[dict[str, int]]"]:
    """Attack during the block; afterwards the queue has the number of connections by attack."""
    host, _, port = process.wait_until_http().removeprefix("http://").partition(":")
    spawn = multiprocessing.get_context("spawn")
    ended, sent = spawn.Event(), spawn.Queue()
    attacker = spawn.Process(target=attack_until, args=(ended, process.address, (host, int(port)), sent), daemon=True)
    attacker.start()
    try:
        yield sent
    finally:
        ended.set()


@pytest.mark.slow
def test_all_attacks_at_once(
    tmp_path: Path, pytestconfig: pytest.Config, reliability_report: ReliabilityReport
) -> None:
    seconds: float = pytestconfig.getoption("--attack-seconds")
    with ExitStack() as opened:
        process = opened.enter_context(serving(tmp_path, http="127.0.0.1:0"))
        process.wait_until_http()
        storm = opened.enter_context(registered_storm(process.address, brokers=BROKERS, topics=TOPICS))
        before, cpu = process.resident_bytes(), cpu_seconds(process)
        with LookUpProber(process.address, topic_names(TOPICS), rate=RATE) as prober, attacked(process) as counts:
            until = time.monotonic() + seconds
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(left, HEARTBEAT_S))
                storm.register()
        peak = AttackedServer(process, tmp_path).peak_bytes()
        assert process.exit_code is None, process.log
        sent = counts.get(timeout=120)
        assert prober.failures == [], prober.failures[:3]
        assert min(sent.values()) > 0, sent
        assert len(prober.took_s) > 10
        assert peak - before < MAX_GROWTH_BYTES, f"{(peak - before) >> 20} MiB more"
        reliability_report.add(
            "all at once",
            f"{len(sent)} attacks",
            seconds=seconds,
            sent=sum(sent.values()),
            look_ups=len(prober.took_s),
            p99_ms=prober.percentile_ms(0.99),
            cpu_s=round(cpu_seconds(process) - cpu, 1),
            mib_before=before >> 20,
            mib_peak=peak >> 20,
        )

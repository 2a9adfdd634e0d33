"""Brokers that all announce changed topics at once, over their own connections.

python -m tests.attacks.announcement_storm HOST:PORT BROKERS TOPICS

Registers the brokers, prints `ready`, waits for a line on stdin, lets all brokers announce all of their topics with
other permissions, and prints `done` when the last one is acknowledged. As a process of its own it takes no time from
the clients that measure.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.attacks import hostile_input
from tests.support.remoting import Client
from tests.support.remoting_frames import Request


def topic_names(count: int) -> list[str]:
    return [f"topic-{number:06d}" for number in range(count)]


class Storm:
    """Registered brokers. `announce` changes all topics of all of them, and returns when all are acknowledged."""

    def __init__(self, links: list[Client], topics: int) -> None:
        self._links = links
        self._names = topic_names(topics)
        self._counter = 0

    def register(self) -> None:
        body = self._next_body()
        for number in range(len(self._links)):
            self._send(number, body)

    def announce(self) -> None:
        body, failures = self._next_body(), list[BaseException]()

        def one(number: int) -> None:
            try:
                self._send(number, body)
            except BaseException as error:  # noqa: BLE001  raised again below
                failures.append(error)

        threads = [threading.Thread(target=one, args=(number,)) for number in range(len(self._links))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _next_body(self) -> bytes:
        self._counter += 1
        perm = 6 if self._counter % 2 else 4
        return hostile_input.registration("", self._names, counter=self._counter, perm=perm).body or b""

    def _send(self, number: int, body: bytes) -> None:
        addr = f"10.1.{number // 250}.{number % 250}:10911"
        fields = hostile_input.registration_fields(f"storm-{number}", addr=addr)
        answer = self._links[number].ask(Request(code=103, ext=fields, body=body))
        if answer.code:
            raise AssertionError(f"broker {number}: {answer.code} {answer.remark}")


@contextmanager
def registered_storm(address: tuple[str, int], *, brokers: int, topics: int) -> Iterator[Storm]:
    with ExitStack() as opened:
        storm = Storm([opened.enter_context(Client(address)) for _ in range(brokers)], topics)
        storm.register()
        yield storm


if __name__ == "__main__":
    host, _, port = sys.argv[1].rpartition(":")
    with registered_storm((host, int(port)), brokers=int(sys.argv[2]), topics=int(sys.argv[3])) as registered:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        registered.announce()
        sys.stdout.write("done\n")
        sys.stdout.flush()

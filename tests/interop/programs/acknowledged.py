"""A Java producer that sends all the time, remembers what was acknowledged, and looks for lost messages at the end."""

import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.support.programs import java_program

WAIT_S: Final = 120.0
_REPORT: Final = re.compile(r"acknowledged (\d+) failed (\d+) lost (\d+); longest ([\d.]+)")


class Report(NamedTuple):
    """What became of the messages, and the longest time in seconds without an acknowledgement."""

    acknowledged: int
    failed: int
    lost: int
    longest_s: float


class Producer:
    """Sends until `finish`, in a JVM of its own."""

    def __init__(self, *, nameservers: str, topic: str, home: Path) -> None:
        home.mkdir(parents=True)
        self._process = subprocess.Popen(
            java_program("Acknowledged", nameservers, topic, home=home),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._changed = threading.Condition()
        self._printed: list[str] = []
        self._count = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                if line.startswith("ack "):
                    self._count += 1
                else:
                    self._printed.append(line)
                self._changed.notify_all()

    def wait_for_more(self, count: int = 20) -> None:
        """Wait until this number of further acknowledgements has arrived."""
        deadline = time.monotonic() + WAIT_S
        with self._changed:
            wanted = self._count + count
            while self._count < wanted:
                assert self._changed.wait(max(0.0, deadline - time.monotonic())), f"nothing is stored: {self._printed}"

    def finish(self) -> Report:
        """Stop sending and look for lost messages."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        found = _REPORT.search("".join(self._printed))
        assert found is not None, self._printed
        return Report(int(found[1]), int(found[2]), int(found[3]), float(found[4]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

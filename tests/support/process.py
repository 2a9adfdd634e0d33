"""Runs `routebook serve` as a process of its own, and ends it whatever happens."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 30.0
_COMMAND: Final = (sys.executable, "-c", "import sys; from routebook.cli import main; sys.exit(main())")
_LISTENING: Final = re.compile(r"listening on (\S+):(\d+) \(nameserver\)")
_SERVING_HTTP: Final = re.compile(r"listening on (\S+) \(http\)")


class Process:
    """A `routebook` process. What it prints is collected, so it never blocks on a full pipe."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("ROUTEBOOK_", "ROCKETMQ_"))}
        self._process = subprocess.Popen(
            [*_COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**clean, **(environment or {})},
            text=True,
            errors="replace",
        )
        self._changed = threading.Condition()
        self._out: list[str] = []
        self._log: list[str] = []
        self._readers = [self._collect(self._process.stdout, self._out), self._collect(self._process.stderr, self._log)]
        self.host, self.port = "", 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def out(self) -> str:
        """What stands on stdout so far."""
        with self._changed:
            return "".join(self._out)

    @property
    def log(self) -> str:
        """What stands on stderr so far."""
        with self._changed:
            return "".join(self._log)

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def wait_until_listening(self) -> None:
        """Until the line is there; an error with everything printed if the process ends first."""
        found = self._wait_for(self._out, _LISTENING, START_TIMEOUT_S)
        self.host, self.port = found[1], int(found[2])

    def wait_until_http(self) -> str:
        """Where HTTP is served, as soon as it is: `http://HOST:PORT`."""
        return f"http://{self._wait_for(self._out, _SERVING_HTTP, START_TIMEOUT_S)[1]}"

    def wait_for_out(self, pattern: str, *, timeout_s: float = 20.0) -> re.Match[str]:
        """Until a line on stdout matches."""
        return self._wait_for(self._out, re.compile(pattern), timeout_s)

    def wait_for_log(self, pattern: str, *, timeout_s: float = 20.0) -> re.Match[str]:
        """Until a log line matches."""
        return self._wait_for(self._log, re.compile(pattern), timeout_s)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, *, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Its exit code, when it has ended and all it printed is here."""
        code = self._process.wait(timeout_s)
        for reader in self._readers:
            reader.join(timeout_s)
        return code

    def stop(self) -> int:
        """Ask it to end, and wait for it."""
        self.send(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it now, if it still runs, and free what it held."""
        if self._process.poll() is None:
            self._process.kill()
        self.wait()

    def resident_bytes(self) -> int:
        """How much memory it takes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def _collect(self, stream: IO[str] | None, lines: list[str]) -> threading.Thread:
        assert stream is not None

        def read() -> None:
            with stream:
                for line in stream:
                    with self._changed:
                        lines.append(line)
                        self._changed.notify_all()
            with self._changed:
                self._changed.notify_all()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def _wait_for(self, lines: list[str], pattern: re.Pattern[str], timeout_s: float) -> re.Match[str]:
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for line in lines:
                    if found := pattern.search(line):
                        return found
                left = deadline - time.monotonic()
                ended = self._process.poll() is not None and not any(reader.is_alive() for reader in self._readers)
                if left <= 0 or ended:
                    state = f"ended with {self._process.poll()}" if ended else "is still running"
                    everything = "".join(self._out) + "".join(self._log)
                    raise AssertionError(
                        f"no line with {pattern.pattern!r}; the process {state}, and printed:\n{everything}"
                    )
                self._changed.wait(min(left, 0.5))


@contextmanager
def serving(
    home: Path,
    *arguments: str,
    listen: str = "127.0.0.1:0",
    http: str = "off",
    settings: Mapping[str, object] | None = None,
) -> Iterator[Process]:
    """A NameServer that listens, with these settings by their keys."""
    process = start(home, *arguments, listen=listen, http=http, settings=settings)
    try:
        process.wait_until_listening()
        yield process
    finally:
        process.kill()


def start(
    home: Path,
    *arguments: str,
    listen: str = "127.0.0.1:0",
    http: str = "off",
    settings: Mapping[str, object] | None = None,
) -> Process:
    """The same, without waiting: for those that are not expected to start. The caller ends it."""
    defined = [f"-D{key}={_text(value)}" for key, value in (settings or {}).items()]
    return Process("serve", "--home", str(home), "--listen", listen, "--http", http, *defined, *arguments)


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)

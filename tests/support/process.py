"""Runs `routebook serve` as a separate process, and always ends it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

START_TIMEOUT_S: Final = 120.0  # generous: a busy machine is no failure
STOP_TIMEOUT_S: Final = 120.0
LINE_TIMEOUT_S: Final = 60.0
_COMMAND: Final = (sys.executable, "-c", "import sys; from routebook.cli import main; sys.exit(main())")
_LISTENING: Final = re.compile(r"listening on (\S+):(\d+) \(nameserver\)")
_SERVING_HTTP: Final = re.compile(r"listening on (\S+) \(http\)")


class Process:
    """A `routebook` process. Its output is collected, so that it never blocks on a full pipe."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        program: Sequence[str] = _COMMAND,
    ) -> None:
        """`prefix`: a program that runs the process, such as nsenter; it must replace itself by it."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("ROUTEBOOK_", "ROCKETMQ_"))}
        self._process = subprocess.Popen(
            [*prefix, *program, *arguments],
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
        """The content of stdout so far."""
        with self._changed:
            return "".join(self._out)

    @property
    def log(self) -> str:
        """The content of stderr so far."""
        with self._changed:
            return "".join(self._log)

    @property
    def exit_code(self) -> int | None:
        """None while the process runs."""
        return self._process.poll()

    def wait_until_listening(self) -> None:
        """Wait for the line; if the process ends first, the error contains its output."""
        found = self._wait_for(self._out, _LISTENING, START_TIMEOUT_S)
        self.host, self.port = found[1], int(found[2])

    def wait_until_http(self) -> str:
        """Wait for the HTTP port: `http://HOST:PORT`."""
        return f"http://{self._wait_for(self._out, _SERVING_HTTP, START_TIMEOUT_S)[1]}"

    def wait_for_out(self, pattern: str, *, timeout_s: float = LINE_TIMEOUT_S) -> re.Match[str]:
        """Wait until a line on stdout matches."""
        return self._wait_for(self._out, re.compile(pattern), timeout_s)

    def wait_for_log(self, pattern: str, *, timeout_s: float = LINE_TIMEOUT_S) -> re.Match[str]:
        """Wait until a log line matches."""
        return self._wait_for(self._log, re.compile(pattern), timeout_s)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, *, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait for the end of the process and of its output; return the exit code."""
        code = self._process.wait(timeout_s)
        for reader in self._readers:
            reader.join(timeout_s)
        return code

    def stop(self) -> int:
        """Send SIGTERM and wait."""
        self.send(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """Kill it if it still runs, and release its resources."""
        if self._process.poll() is None:
            self._process.kill()
        self.wait()

    def resident_bytes(self) -> int:
        """Resident memory."""
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
                        f"no line matches {pattern.pattern!r}; the process {state}; its output:\n{everything}"
                    )
                self._changed.wait(min(left, 0.5))


@contextmanager
def serving(
    home: Path,
    *arguments: str,
    listen: str = "127.0.0.1:0",
    http: str = "off",
    settings: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = _COMMAND,
) -> Iterator[Process]:
    """A running NameServer with these settings."""
    process = start(
        home, *arguments, listen=listen, http=http, settings=settings, environment=environment, program=program
    )
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
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = _COMMAND,
) -> Process:
    """Start a NameServer without waiting; the caller ends it."""
    defined = [f"-D{key}={_text(value)}" for key, value in (settings or {}).items()]
    command = ("serve", "--home", str(home), "--listen", listen, "--http", http, *defined, *arguments)
    return Process(*command, environment=environment, program=program)


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)

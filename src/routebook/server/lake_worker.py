"""Lake worker: runs the lake in a child process beside the NameServer and restarts it with backoff.

The child has a lower priority and cannot affect the NameServer. A failure is one log line and an entry in `status.json`
in the lake's folder, which health reports.
"""

import contextlib
import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

from routebook.lake.status import State, Status, read_status, write_status
from routebook.server.observe.log import escape, get_log

_MIN_BACKOFF_S: Final = 2.0
_MAX_BACKOFF_S: Final = 300.0
_HEALTHY_S: Final = 600.0  # a process that ran this long resets the backoff
_STOP_S: Final = 3.0  # a build that is killed leaves the published tables as they are
_KEPT_LINES: Final = 20


class LakeWorker:
    """Runs `command` from when `ready` returns true until `stop`; if `missing` is given, only reports it."""

    def __init__(
        self,
        command: Sequence[str],
        lake: Path,
        *,
        ready: Callable[[], bool] = lambda: True,
        missing: str | None = None,
        min_backoff_s: float = _MIN_BACKOFF_S,
    ) -> None:
        self._command = list(command)
        self._lake = lake
        self._ready = ready
        self._missing = missing
        self._min_backoff_s = min_backoff_s
        self._log = get_log("lake")
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="lake", daemon=True)
        self._logged = ""
        self.restarts = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Terminate the process; kill it if that takes too long."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)
        status = read_status(self._lake)
        if status is not None and status.state is not State.STOPPED:
            self._write(State.STOPPED, "")

    def _supervise(self) -> None:
        while not self._ready():
            if self._stopping.wait(0.2):
                return
        if self._missing is not None:
            self._fail(self._missing, retry_s=None)
            return
        backoff_s = self._min_backoff_s
        while not self._stopping.is_set():
            started = time.monotonic()
            why = self._run()
            if self._stopping.is_set():
                return
            if time.monotonic() - started >= _HEALTHY_S:
                backoff_s = self._min_backoff_s
            self._fail(why, retry_s=backoff_s)
            if self._stopping.wait(backoff_s):
                return
            backoff_s = min(backoff_s * 2, _MAX_BACKOFF_S)
            self.restarts += 1

    def _run(self) -> str:
        """Run the process until it ends; the reason."""
        self._write(State.STARTING, "the lake process starts")
        try:
            with self._lock:
                if self._stopping.is_set():
                    return ""
                self._process = process = subprocess.Popen(  # noqa: S603 - our own program
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # ctrl-c stops the NameServer, which then stops this process
                )
        except OSError as error:
            return f"cannot start the lake process: {error.strerror}"
        last = _last_lines(process.stderr)
        code = process.wait()
        with self._lock:
            self._process = None
        message = next((line for line in reversed(last) if line), "")
        return message.removeprefix("routebook: ") or f"the lake process ended with exit code {code}"

    def _fail(self, why: str, *, retry_s: float | None) -> None:
        self._write(State.FAILED, why)
        if why != self._logged:
            self._logged = why
            more = {} if retry_s is None else {"again_s": retry_s}
            self._log.warning("the lake is not updated; the NameServer is not affected", why=why, **more)

    def _write(self, state: State, says: str) -> None:
        before = read_status(self._lake)
        write_status(
            self._lake,
            Status(
                state=state,
                at_ms=time.time_ns() // 1_000_000,
                says=says,
                pid=os.getpid(),
                restarts=self.restarts,
                build_id=before.build_id if before is not None else None,
                events=before.events if before is not None else None,
            ),
        )


def _last_lines(stream: IO[bytes] | None) -> deque[str]:
    """Read the output to its end; the last lines."""
    last: deque[str] = deque(maxlen=_KEPT_LINES)
    if stream is not None:
        with stream:
            for line in stream:
                last.append(escape(line.decode(errors="replace").strip(), max_chars=1000))
    return last

"""Keeps the lake's process going beside a NameServer: starts it, starts it again when it dies, ends it in order.

It is a child with a lower priority. Nothing it does or fails to do reaches the NameServer: a failure is one log line,
and `status.json` in the lake's folder, which health shows.
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

FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 300.0
_WELL_S: Final = 600.0  # who lived as long starts again without delay
_STOP_S: Final = 15.0
_LAST_LINES: Final = 20


class LakeWorker:
    """Runs `command` until `stop`, from when `ready` says so; where something is `missing`, only says that."""

    def __init__(
        self,
        command: Sequence[str],
        lake: Path,
        *,
        ready: Callable[[], bool] = lambda: True,
        missing: str | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._command = list(command)
        self._lake = lake
        self._ready = ready
        self._missing = missing
        self._first_pause_s = first_pause_s
        self._log = get_log("lake")
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep_going, name="lake", daemon=True)
        self._said = ""
        self.restarts = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it in order, by force if it takes too long."""
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

    def _keep_going(self) -> None:
        while not self._ready():
            if self._stopping.wait(0.2):
                return
        if self._missing is not None:
            self._fail(self._missing, again_s=None)
            return
        pause_s = self._first_pause_s
        while not self._stopping.is_set():
            began = time.monotonic()
            why = self._run()
            if self._stopping.is_set():
                return
            if time.monotonic() - began >= _WELL_S:
                pause_s = self._first_pause_s
            self._fail(why, again_s=pause_s)
            if self._stopping.wait(pause_s):
                return
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            self.restarts += 1

    def _run(self) -> str:
        """One life of it; why it ended."""
        self._write(State.STARTING, "the lake starts")
        try:
            with self._lock:
                if self._stopping.is_set():
                    return ""
                self._process = process = subprocess.Popen(  # noqa: S603 - our own program
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # ctrl-c is for the NameServer, which then ends it in order
                )
        except OSError as error:
            return f"it could not be started: {error.strerror}"
        last = _last_lines(process.stderr)
        code = process.wait()
        with self._lock:
            self._process = None
        told = next((line for line in reversed(last) if line), "")
        return told.removeprefix("routebook: ") or f"it ended with exit code {code}"

    def _fail(self, why: str, *, again_s: float | None) -> None:
        self._write(State.FAILED, why)
        if why != self._said:
            self._said = why
            told = {} if again_s is None else {"again_s": again_s}
            self._log.warning("the lake does not follow; the NameServer is not touched", why=why, **told)

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
    """All it says until it ends; the last of it is kept."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    if stream is not None:
        with stream:
            for line in stream:
                last.append(escape(line.decode(errors="replace").strip(), max_chars=1000))
    return last

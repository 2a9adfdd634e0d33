"""Builds repeatedly in one Spark session until stopped; a failed pass is retried in the next one."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from routebook.errors import RoutebookError
from routebook.lake.spark.jvm import JvmError, reason_of
from routebook.lake.status import State, Status, write_status

if TYPE_CHECKING:
    from routebook.lake.build.outcome import Outcome, Stage
    from routebook.lake.build.pipeline import Pipeline
    from routebook.lake.lock import Lock


class Follower:
    """Keeps one lake up to date with its journals and reports its state in `status.json`."""

    def __init__(
        self,
        pipeline: "Pipeline",
        *,
        folder: Path,
        journals: Callable[[], Sequence[str]],
        lock: "Lock | None",
        on_build: Callable[["Outcome"], None],
        on_error: Callable[[str], None],
    ) -> None:
        self._pipeline = pipeline
        self._folder = folder
        self._journals = journals
        self._lock = lock
        self._on_build = on_build
        self._on_error = on_error
        self._last_error = ""
        self._behind: tuple[int, int] | None = None  # segments to read; rows not yet published
        pipeline.add_listener(self._on_stage)

    def run(self, *, every_s: float, stop: threading.Event) -> None:
        """Run passes until `stop` is set; the current pass is completed."""
        self._write(State.STARTING)
        while not stop.is_set():
            self.one_pass()
            stop.wait(every_s)
        self._write(State.STOPPED)

    def one_pass(self) -> bool:
        """Run one pass and return whether it succeeded. A repeated failure is reported once."""
        self._write(State.BUILDING)
        try:
            if self._lock is not None:
                self._lock.acquire("follow")
            try:
                outcome = self._pipeline.build(self._journals())
            finally:
                if self._lock is not None:
                    self._lock.release()
        except (RoutebookError, PySparkException, JvmError, ConnectionError) as error:
            line = " ".join(reason_of(error).split())[:500]
            if line != self._last_error:
                self._on_error(f"this pass failed and will be retried: {line}")
            self._last_error = line
            self._write(State.FAILED, says=line)
            return False
        self._last_error = ""
        self._behind = 0, 0
        self._on_build(outcome)
        self._write(State.FOLLOWING, build_id=outcome.build_id)
        return True

    def _on_stage(self, stage: "Stage") -> None:
        if not stage.total:  # opening, publishing, or nothing to read
            self._write(State.BUILDING, says=stage.name)
            return
        is_reading = stage.name == "reading"
        self._behind = stage.total - stage.done if is_reading else 0, stage.rows
        self._write(State.BUILDING, says=f"{stage.name}: {stage.done} of {stage.total} {stage.unit}")

    def _write(self, state: State, *, says: str = "", build_id: str | None = None) -> None:
        segments, rows = self._behind or (None, None)
        status = Status(
            state=state,
            at_ms=int(time.time() * 1000),
            says=says,
            pid=os.getpid(),
            build_id=build_id,
            events=self._pipeline.events,
            behind_segments=segments,
            behind_rows=rows,
        )
        write_status(self._folder, status)

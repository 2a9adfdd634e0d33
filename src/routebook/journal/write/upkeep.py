"""Keeps the folder small, on its own thread: rolls finished segments, and removes those that are past retention."""

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue

from routebook.journal.files import Files
from routebook.journal.segments import Span, list_segments
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.retention import expired
from routebook.journal.write.rolling import roll_segment

_ROUND_S = 60.0  # also without a finished segment: one may have come of age, or the disk may have room again


class Upkeep:
    """Tell it of finished segments. What fails is tried again with the next round; `problem` says why."""

    def __init__(self, files: Files, *, options: JournalOptions, now_ms: Callable[[], int]) -> None:
        self._files = files
        self._options = options
        self._now_ms = now_ms
        self._told: SimpleQueue[Mapping[str, Span]] = SimpleQueue()
        self._finished: dict[str, Span] = {}
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="journal-upkeep", daemon=True)
        self.problem: str | None = None
        self.rolled = 0
        self.removed = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The segment at hand is finished first."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def finished(self, spans: Mapping[str, Span]) -> None:
        """These segments, by name, do not grow any more."""
        self._told.put(spans)
        self._wake.set()

    def round(self) -> None:
        """Do all that is to do."""
        while not self._told.empty():
            self._finished.update(self._told.get())
        try:
            for name, span in sorted(self._finished.items()):
                if self._stopping:
                    return
                self._roll(name, span)
            self._forget()
            self.problem = None
        except OSError as problem:
            self.problem = str(problem)

    def _roll(self, name: str, span: Span) -> None:
        try:
            roll_segment(self._files, name, span)
            self.rolled += 1
        except FileNotFoundError:
            if name in self._files.names():
                raise
            # it was removed under us: readers will tell of the hole
        del self._finished[name]

    def _forget(self) -> None:
        segments = list_segments(self._files.names()).segments
        sizes = {segment.name: self._files.size(segment.name) for segment in segments}
        for segment in expired(segments, sizes, now_ms=self._now_ms(), options=self._options):
            self._files.remove(segment.name)
            self.removed += 1

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._wake.clear()
                self.round()
                self._wake.wait(_ROUND_S)
        finally:
            if not self._stopping:
                self.problem = "the upkeep thread ended unexpectedly"

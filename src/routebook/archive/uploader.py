"""Uploads rolled segments to the archive on a thread of its own, oldest first, each once.

The folder is the state: at the start the archive is listed once, and what it lacks is uploaded. So the archive of a
NameServer is a prefix of its journal without holes, except where retention had to delete a segment that could not be
uploaded in time.
"""

import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import msgspec

from routebook.archive.store import AlreadyArchived, ArchiveStore
from routebook.errors import ArchiveError
from routebook.journal.files import FolderFiles
from routebook.journal.segments import Segment, list_segments

_POLL_S: Final = 5.0
_FIRST_RETRY_S: Final = 1.0
_LAST_RETRY_S: Final = 300.0


class ArchiveStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Uploader status for health and metrics. Counters start at zero with the process."""

    url: str
    uploaded_segments: int
    uploaded_bytes: int
    behind_segments: int
    oldest_behind_ms: int | None  # time of the latest record in the oldest segment that is not archived
    conflicts: int  # objects of another content under a name of this journal
    problem: str | None  # why the last upload failed; it is repeated
    last_upload_ms: int | None


class Uploader:
    """`start` and `stop` from the event loop's thread pool; `is_archived` and `status` are thread-safe."""

    def __init__(
        self,
        store: ArchiveStore,
        folder: Path,
        *,
        ns: str,
        wall_ms: Callable[[], int],
        log: Callable[[str], None],
        first_retry_s: float = _FIRST_RETRY_S,
    ) -> None:
        self._store = store
        self._folder = folder
        self._files = FolderFiles(folder)
        self._ns = ns
        self._wall_ms = wall_ms
        self._log = log
        self._first_retry_s = first_retry_s
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
        self._lock = threading.Lock()  # guards everything below
        self._archived: set[str] | None = None  # names; None: the archive was not listed yet
        self._uploaded = 0
        self._bytes = 0
        self._conflicts = 0
        self._problem: str | None = None
        self._last_upload_ms: int | None = None

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """A segment was rolled."""
        self._wake.set()

    def is_archived(self, name: str) -> bool:
        """Whether a segment is in the archive; False until the archive was listed."""
        with self._lock:
            return self._archived is not None and name in self._archived

    def stop(self, *, timeout_s: float = 20.0) -> bool:
        """End the thread, then upload what is left, for at most `timeout_s`; whether everything is archived."""
        deadline_s = time.monotonic() + timeout_s
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                return False
        while (waiting := self._waiting()) and time.monotonic() < deadline_s:
            if not self._upload(waiting[0]):
                break
        return not self._waiting()

    def status(self) -> ArchiveStatus:
        waiting = self._waiting()
        oldest = waiting[0].span if waiting else None
        with self._lock:
            return ArchiveStatus(
                url=self._store.url,
                uploaded_segments=self._uploaded,
                uploaded_bytes=self._bytes,
                behind_segments=len(waiting),
                oldest_behind_ms=None if oldest is None else oldest.latest_ms,
                conflicts=self._conflicts,
                problem=self._problem,
                last_upload_ms=self._last_upload_ms,
            )

    # -- thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        retry_s = self._first_retry_s
        while not self._stopping.is_set():
            self._wake.clear()
            waiting = self._waiting()
            if (self._archived is None and not self._list()) or (waiting and not self._upload(waiting[0])):
                self._stopping.wait(retry_s)
                retry_s = min(2 * retry_s, _LAST_RETRY_S)
            else:
                retry_s = self._first_retry_s
                if not self._waiting():
                    self._wake.wait(_POLL_S)

    def _waiting(self) -> list[Segment]:
        """Rolled segments that are not archived, oldest first."""
        segments = list_segments(self._files.names()).segments
        with self._lock:
            archived: Collection[str] = self._archived or ()
            return [segment for segment in segments if segment.rolled and segment.name not in archived]

    def _list(self) -> bool:
        try:
            found = {entry.name for entry in self._store.objects(self._ns)}
        except ArchiveError as problem:
            return self._fail(problem)
        with self._lock:
            self._archived = found
        return True

    def _upload(self, segment: Segment) -> bool:
        """Upload one segment; whether it is archived or gone."""
        file = self._folder / segment.name
        try:
            size = file.stat().st_size
        except OSError:  # retention deleted it
            return True
        if self._archived is None and not self._list():
            return False
        try:
            self._store.put_new(self._ns, segment.name, file)
        except AlreadyArchived:
            self._check(segment.name, size)
            size = 0
        except ArchiveError as problem:
            return self._fail(problem)
        with self._lock:
            if self._problem is not None:
                self._log(f"the archive works again: {self._store.url}")
            self._problem = None
            if self._archived is not None:
                self._archived.add(segment.name)
            if size:
                self._uploaded += 1
                self._bytes += size
                self._last_upload_ms = self._wall_ms()
        return True

    def _check(self, name: str, size: int) -> None:
        """An object with this name exists: written by this NameServer before, unless its size differs."""
        there = next((entry.size for entry in self._store.objects(self._ns) if entry.name == name), size)
        if there != size:
            with self._lock:
                self._conflicts += 1
            self._log(
                f"archive {self._store.url}/{self._ns}/{name} has {there} bytes, the segment here {size}: two "
                "NameServers use the id in identity.json; give one of them a home folder of its own"
            )

    def _fail(self, problem: ArchiveError) -> bool:
        with self._lock:
            is_new, self._problem = str(problem) != self._problem, str(problem)
        if is_new:
            self._log(f"segments are not archived: {problem}; retrying")
        return False

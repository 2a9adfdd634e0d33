"""The server's archive: restores an empty journal before the start, uploads rolled segments, reports health."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from routebook.archive.restore import Restored, has_segments, restore
from routebook.archive.store import ArchiveStore
from routebook.archive.uploader import Uploader
from routebook.errors import ArchiveError, HomeError, UsageError
from routebook.journal.files import FolderFiles
from routebook.journal.segments import RESERVE_NAME, list_segments
from routebook.journal.write.sequence_reserve import SequenceReserve, write_reserve
from routebook.server.observe.health import Condition, Fact, Part
from routebook.server.state.home import Home

_MAX_LOST: Final = 1_000_000  # numbers that records on the lost disk may have had are not used again
_LATE_MS: Final = 3_600_000
_STOP_S: Final = 20.0


def open_store(url: str) -> ArchiveStore | None:
    """The store of the setting `routebook.archive.url`; None if it is empty. Raises HomeError."""
    if not url:
        return None
    try:
        return ArchiveStore(url)
    except UsageError as problem:
        raise HomeError(f"routebook.archive.url: {problem}") from None


def restore_journal(store: ArchiveStore, home: Home) -> Restored | None:
    """Download the journal of a home that has an identity and no journal; None if there is nothing to restore.

    Raises HomeError if the archive cannot be read: without it, the NameServer would use sequence numbers again.
    """
    folder = home.path / "journal"
    if home.is_new or has_segments(folder) or (folder / RESERVE_NAME).exists():
        return None
    try:
        found = restore(store, home.ns, folder)
    except (ArchiveError, OSError) as problem:
        raise HomeError(
            f"cannot restore the journal of {home.ns} from the archive: {problem}. Start again when the archive is "
            f"reachable, or remove {home.path / 'identity.json'} to start as a new NameServer"
        ) from None
    if not found.segments:
        return None
    files = FolderFiles(folder)
    last = max(segment.span.last for segment in list_segments(files.names()).segments if segment.span is not None)
    write_reserve(files, SequenceReserve(reserved=last + _MAX_LOST))
    return found


class ServerArchive:
    """The uploader of a running server. `start` and `stop` block for a moment: call them on a thread."""

    def __init__(
        self, store: ArchiveStore, folder: Path, *, ns: str, wall_ms: Callable[[], int], log: Callable[[str], None]
    ) -> None:
        self._wall_ms = wall_ms
        self.uploader = Uploader(store, folder, ns=ns, wall_ms=wall_ms, log=log)

    def stop(self) -> bool:
        """Upload the rest; whether everything is archived."""
        return self.uploader.stop(timeout_s=_STOP_S)

    def health(self) -> Part:
        """The health component `archive`: degraded if uploads fail, are late, or collide with another NameServer."""
        status = self.uploader.status()
        age_ms = 0 if status.oldest_behind_ms is None else max(0, self._wall_ms() - status.oldest_behind_ms)
        facts: dict[str, Fact] = {
            "url": status.url,
            "uploaded_segments": status.uploaded_segments,
            "uploaded_bytes": status.uploaded_bytes,
            "behind_segments": status.behind_segments,
            "oldest_behind_seconds": age_ms // 1000,
            "conflicts": status.conflicts,
            "last_upload_ms": status.last_upload_ms,
        }
        if status.conflicts:
            says = "another NameServer uploads under the same id; give one of them a home folder of its own"
            return Part(Condition.DEGRADED, says, facts)
        if status.problem is not None:
            says = f"segments are not archived: {status.problem}; {status.behind_segments} wait, uploads are repeated"
            return Part(Condition.DEGRADED, says, facts)
        if status.behind_segments and age_ms > _LATE_MS:
            return Part(Condition.DEGRADED, f"{status.behind_segments} segments wait for their upload", facts)
        return Part(facts=facts)

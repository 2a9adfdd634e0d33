"""Downloads archived segments into a journal folder: a NameServer that lost its disk starts warm from them."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from routebook.archive.store import ArchivedObject, ArchiveStore
from routebook.journal.segments import list_segments


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What was downloaded."""

    segments: int
    bytes: int


def has_segments(folder: Path) -> bool:
    """Whether a journal folder has any segment."""
    try:
        return bool(list_segments(entry.name for entry in folder.iterdir()).segments)
    except FileNotFoundError:
        return False


def restore(
    store: ArchiveStore,
    ns: str,
    folder: Path,
    *,
    from_ms: int | None = None,
    on_segment: Callable[[int, int], None] | None = None,
) -> Restored:
    """Download the segments of a NameServer that are not in `folder`. Raises ArchiveError.

    With `from_ms`, only those with records from then on. `on_segment` receives the number of finished segments and the
    number of all.
    """
    wanted = [entry for entry in store.objects(ns) if _is_wanted(entry, from_ms)]
    folder.mkdir(parents=True, exist_ok=True)
    missing = [entry for entry in wanted if not _is_here(folder / entry.name, entry.size)]
    for number, entry in enumerate(missing, 1):
        store.download(ns, entry.name, folder / entry.name)
        if on_segment is not None:
            on_segment(number, len(missing))
    return Restored(segments=len(missing), bytes=sum(entry.size for entry in missing))


def _is_wanted(entry: ArchivedObject, from_ms: int | None) -> bool:
    (segment,) = list_segments([entry.name]).segments or (None,)
    if segment is None or segment.span is None:
        return False
    return from_ms is None or segment.span.latest_ms >= from_ms


def _is_here(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False

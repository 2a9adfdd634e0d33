"""Restoring a journal folder from an archive."""

from pathlib import Path

from routebook.archive.restore import has_segments, restore
from routebook.archive.store import ArchiveStore
from tests.support.archived_journal import write_segments


def test_missing_segments_are_downloaded(tmp_path: Path) -> None:
    names = write_segments(tmp_path / "old", 3)
    store = ArchiveStore(f"file://{tmp_path}/archive")
    for name in names:
        store.put_new("ns-a", name, tmp_path / "old" / name)
    store.put("ns-a", "head.json", b"{}")
    folder = tmp_path / "new" / "journal"
    assert not has_segments(folder)
    done: list[tuple[int, int]] = []
    assert restore(store, "ns-a", folder, on_segment=lambda *numbers: done.append(numbers)).segments == 3
    assert sorted(path.name for path in folder.iterdir()) == names
    assert all((folder / name).read_bytes() == (tmp_path / "old" / name).read_bytes() for name in names)
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert has_segments(folder)
    (folder / names[1]).write_bytes(b"cut")
    assert restore(store, "ns-a", folder).segments == 1


def test_only_segments_from_a_time_on(tmp_path: Path) -> None:
    names = write_segments(tmp_path / "old", 3)
    store = ArchiveStore(f"file://{tmp_path}/archive")
    for name in names:
        store.put_new("ns-a", name, tmp_path / "old" / name)
    restore(store, "ns-a", tmp_path / "new", from_ms=1_700_000_000_002)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == names[1:]

"""The writer on a real file system that is full, read-only, or loses the folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.errors import JournalDegraded
from routebook.events import JournalHole, ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.read.reader import Line, read
from routebook.journal.read.verify import verify
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from tests.support.small_disk import SmallDisk, small_disk

EVENT = ServerStopped(reason="x" * 200)
OPTIONS = JournalOptions(queue_records=50)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def writer_in(folder: Path) -> Writer:
    """Without its threads: the test commits."""
    return open_journal(FolderFiles(folder), ns="n", boot="b", options=OPTIONS, now_ms=lambda: 5).writer


def write(writer: Writer, count: int = 1) -> None:
    """Write records one by one."""
    for _ in range(count):
        future = writer.durable(writer.append(EVENT, 1))
        writer.commit()
        future.result(0)


def seqs(folder: Path) -> list[int]:
    return [item.record.seq for item in read(FolderFiles(folder)) if isinstance(item, Line)]


def test_a_full_disk_degrades_the_journal_until_space_is_free(disk: SmallDisk) -> None:
    folder = disk.path / "journal"
    writer = writer_in(folder)
    write(writer)
    disk.fill()
    with pytest.raises(JournalDegraded, match="No space left on device"):
        write(writer, 100)  # more than the rest of the segment's current page
    dropped = [writer.append(EVENT, 1) for _ in range(200)][-100:]
    status = writer.status()
    assert status.state == "degraded"
    assert 150 <= status.dropped_records <= 200
    disk.free()
    assert writer.commit()
    write(writer)
    assert writer.status().state == "writing"
    assert writer.stop()
    assert not set(dropped) & set(seqs(folder))
    report = verify(FolderFiles(folder))
    assert not report.damage
    (hole,) = report.holes
    assert "No space left on device" in str(hole.why)
    assert hole.last - hole.first + 1 + report.unnumbered == status.dropped_records


def test_numbers_are_still_reserved_while_the_disk_is_full(disk: SmallDisk) -> None:
    writer = writer_in(disk.path / "journal")
    disk.fill()
    for _ in range(20):
        assert all(writer.append(EVENT, 1) for _ in range(50))
        writer.commit()
    assert writer.status().state == "degraded"
    assert not writer.stop()


def test_a_read_only_disk_degrades_the_journal_until_it_is_writable(disk: SmallDisk) -> None:
    folder = disk.path / "journal"
    writer = writer_in(folder)
    write(writer)
    assert writer.stop()
    disk.remount("ro")
    late = writer_in(folder)
    status = late.status()
    assert (status.state, status.last_seq) == ("degraded", 1)
    assert "Read-only file system" in str(status.reason)
    with pytest.raises(JournalDegraded, match="Read-only file system"):
        write(late)
    disk.remount("rw")
    assert late.commit()
    write(late)
    assert late.stop()
    assert seqs(folder) == [1, 2, 3]
    report = verify(FolderFiles(folder))
    assert (report.damage, report.holes, report.unnumbered) == ((), (), 1)


def test_a_removed_folder_is_recreated_and_the_loss_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    writer = writer_in(folder)
    write(writer, 3)
    shutil.rmtree(folder)
    with pytest.raises(JournalDegraded, match="No such file"):
        write(writer)
    write(writer)
    assert writer.stop()
    assert seqs(folder) == [4, 5, 6]
    report = verify(FolderFiles(folder))
    assert report.kinds["journal_hole"].records == 1
    hole = [item.record.event for item in read(FolderFiles(folder)) if isinstance(item, Line)][-1]
    assert isinstance(hole, JournalHole)
    assert (hole.first_missing, hole.last_missing) == (1, 3)
    assert hole.why == "the segment was deleted while it was open"

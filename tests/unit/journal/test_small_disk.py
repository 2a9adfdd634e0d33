"""The writer on a real file system that is full, read-only, or loses the folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.errors import JournalDegraded
from routebook.events import JournalHole, ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.opening import open_journal
from routebook.journal.options import JournalOptions
from routebook.journal.reader import Line, read
from routebook.journal.verify import verify
from routebook.journal.writer import Writer
from tests.support.small_disk import SmallDisk, small_disk

EVENT = ServerStopped(reason="x" * 200)
OPTIONS = JournalOptions(queue_records=50, retry_first_s=0.001, retry_last_s=0.01)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def started(folder: Path, options: JournalOptions = OPTIONS) -> Writer:
    writer = open_journal(FolderFiles(folder), ns="n", boot="b", options=options, now_ms=lambda: 5).writer
    writer.start()
    return writer


def write_many(writer: Writer) -> None:
    """More than the rest of a page that the segment has already."""
    for _ in range(100):
        writer.durable(writer.append(EVENT, 1)).result(30)


def seqs(folder: Path) -> list[int]:
    return [item.record.seq for item in read(FolderFiles(folder)) if isinstance(item, Line)]


def test_a_full_disk_degrades_and_room_brings_it_back(disk: SmallDisk) -> None:
    writer = started(disk.path / "journal")
    writer.durable(writer.append(EVENT, 1)).result(30)
    disk.fill()
    with pytest.raises(JournalDegraded, match="No space left on device"):
        write_many(writer)
    dropped = [writer.append(EVENT, 1) for _ in range(200)]
    status = writer.status()
    assert status.state == "degraded"
    assert 100 < status.dropped_records <= 200
    assert not set(dropped) & set(seqs(disk.path / "journal"))
    disk.free()
    last = writer.append(EVENT, 1)
    while writer.status().state == "degraded" or not last:
        last = writer.append(EVENT, 1)
    writer.stop()
    report = verify(FolderFiles(disk.path / "journal"))
    assert not report.damage
    assert all("No space left on device" in str(hole.why) for hole in report.holes)
    assert report.kinds["journal_hole"].records >= 1


def test_while_the_disk_is_full_promised_numbers_are_still_renewed(disk: SmallDisk) -> None:
    writer = open_journal(
        FolderFiles(disk.path / "journal"), ns="n", boot="b", options=OPTIONS, now_ms=lambda: 5
    ).writer
    disk.fill()
    for _ in range(20):
        assert all(writer.append(EVENT, 1) for _ in range(50))
        writer.commit()
    assert writer.status().state == "degraded"
    assert not writer.stop()


def test_a_read_only_disk(disk: SmallDisk) -> None:
    folder = disk.path / "journal"
    writer = open_journal(FolderFiles(folder), ns="n", boot="b", options=OPTIONS, now_ms=lambda: 5).writer
    writer.append(EVENT, 1)
    assert writer.stop()
    disk.remount("ro")
    late = started(folder)
    status = late.status()
    assert (status.state, status.last_seq) == ("degraded", 1)
    assert "Read-only file system" in str(status.reason)
    disk.remount("rw")
    while not (seq := late.append(EVENT, 1)):
        pass
    assert late.durable(seq).result(30) is None
    assert late.stop()
    assert seqs(folder)[0] == 1
    report = verify(FolderFiles(folder))
    assert (report.damage, report.holes) == ((), ())
    assert report.unnumbered == late.status().dropped_records


def test_the_folder_is_removed_under_the_writer(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    writer = started(folder)
    for _ in range(3):
        writer.append(EVENT, 1)
    writer.durable(3).result(30)
    shutil.rmtree(folder)
    with pytest.raises(JournalDegraded, match="No such file"):
        writer.durable(writer.append(EVENT, 1)).result(30)
    assert writer.durable(writer.append(EVENT, 1)).result(30) is None
    assert writer.stop()
    lines = [item.record for item in read(FolderFiles(folder)) if isinstance(item, Line)]
    told = [record.event for record in lines if isinstance(record.event, JournalHole)]
    assert [(hole.first_missing, hole.last_missing, hole.why) for hole in told] == [
        (1, 3, "the segment was removed while it was written")
    ]
    assert [record.seq for record in lines][:2] == [4, 5]

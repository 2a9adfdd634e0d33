"""Journals written in virtual time are ordinary journals."""

from pathlib import Path

from routebook.events import Event, KvChanged, ServerStopped
from routebook.fleet.virtual.journal import VirtualJournal
from routebook.journal.files import FolderFiles
from routebook.journal.read.reader import Line, read
from routebook.journal.read.verify import verify
from routebook.journal.record import Record
from routebook.journal.segments import list_segments
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.sequence_reserve import SequenceReserve, read_reserve


def note(key: str) -> Event:
    return KvChanged(namespace="n", key=key, after="x")


def records(folder: Path) -> list[Record]:
    items = list(read(FolderFiles(folder)))
    return [item.record for item in items if isinstance(item, Line)]


def test_appended_events_are_read_back(tmp_path: Path) -> None:
    journal = VirtualJournal(tmp_path / "ns-1", ns="ns-1")
    journal.boot("b1")
    journal.append([note("a"), note("b")], 1000)
    journal.append([], 1500)
    journal.boot("b2")
    journal.append([ServerStopped(reason="done")], 2000)
    journal.close()
    found = records(tmp_path / "ns-1")
    assert [(r.ns, r.boot, r.seq, r.at) for r in found] == [
        ("ns-1", "b1", 1, 1000),
        ("ns-1", "b1", 2, 1000),
        ("ns-1", "b2", 3, 2000),
    ]
    assert [r.event for r in found] == [note("a"), note("b"), ServerStopped(reason="done")]


def test_segments_roll_by_size_and_by_age(tmp_path: Path) -> None:
    journal = VirtualJournal(tmp_path, ns="ns-1", options=JournalOptions(segment_bytes=500, segment_age_s=60))
    journal.boot("b1")
    for number in range(20):
        journal.append([note(f"key-{number}")], 1000)
    journal.append([note("later")], 2000)
    journal.append([note("much later")], 62_000)
    journal.append([note("in the next one")], 62_001)
    journal.close()
    segments = list_segments(FolderFiles(tmp_path).names()).segments
    assert all(segment.rolled for segment in segments)
    assert len(segments) > 5
    assert [segment.span.latest_ms for segment in segments if segment.span is not None][-2:] == [62_000, 62_001]
    report = verify(FolderFiles(tmp_path))
    assert report.whole
    assert (report.records, report.text_bytes) == (23, journal.text_bytes)


def test_a_real_nameserver_can_continue_the_journal(tmp_path: Path) -> None:
    journal = VirtualJournal(tmp_path, ns="ns-1")
    journal.boot("b1")
    journal.append([note("a")], 1000)
    journal.close()
    assert read_reserve(FolderFiles(tmp_path)) == SequenceReserve(reserved=1, clean=True)


def test_an_empty_journal_is_whole(tmp_path: Path) -> None:
    VirtualJournal(tmp_path, ns="ns-1").close()
    assert verify(FolderFiles(tmp_path)).whole

"""The writer: group commit, durability, outages, sequence numbers."""

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.errors import JournalDegraded, JournalError
from routebook.events import JournalHole, ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.read.reader import Hole, Line, read
from routebook.journal.read.verify import verify
from routebook.journal.segments import open_name
from routebook.journal.write.open import Opened, open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from tests.support.faulty_files import FaultyFiles

EVENT = ServerStopped(reason="x")
SMALL = JournalOptions(queue_records=4)
NEVER_MS = 3_600_000  # no group commit by time


def opened(files: FaultyFiles, options: JournalOptions = SMALL, *, boot: str = "b") -> Opened:
    return open_journal(files, ns="n", boot=boot, options=options, now_ms=lambda: 5)


def writer_of(files: FaultyFiles, options: JournalOptions = SMALL) -> Writer:
    """Open a journal without starting its threads; the test commits."""
    return opened(files, options).writer


def records(files: FaultyFiles) -> dict[int, object]:
    return {item.record.seq: item.record.event for item in read(files) if isinstance(item, Line)}


def holes(files: FaultyFiles) -> list[Hole]:
    return [item for item in read(files) if isinstance(item, Hole)]


# -- commits -----------------------------------------------------------------------------------------------------


def test_append_does_not_touch_the_disk() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    before = list(files.calls)
    assert [writer.append(EVENT, 1), writer.append(EVENT, 2)] == [1, 2]
    assert files.calls == before


def test_a_commit_is_one_write_and_one_sync() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    writer.append(EVENT, 1)
    writer.commit()
    files.calls.clear()
    for _ in range(3):
        writer.append(EVENT, 1)
    assert writer.commit()
    assert files.calls == [f"append {open_name(1)}", f"sync {open_name(1)}"]
    status = writer.status()
    assert (status.state, status.durable_seq, status.waiting_records, status.lag_ms) == ("writing", 4, 0, 0)
    assert (status.written_records, status.commits) == (4, 2)


def test_durable_completes_after_the_sync() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    future = writer.durable(writer.append(EVENT, 1))
    assert not future.done()
    writer.commit()
    assert future.result(0) is None
    assert writer.durable(1).result(0) is None


def test_durable_rejects_an_unassigned_number() -> None:
    with pytest.raises(JournalError, match="no record has the number 1"):
        writer_of(FaultyFiles()).durable(1)


def test_a_clean_stop_writes_everything_and_the_next_start_continues() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    for _ in range(3):
        writer.append(EVENT, 1)
    assert writer.stop()
    assert writer.status().state == "stopped"
    with pytest.raises(JournalError, match="closed"):
        writer.append(EVENT, 1)
    again = opened(files, boot="c")
    assert again.writer.append(EVENT, 1) == 4
    assert again.found.skipped is None


def test_after_a_crash_the_skipped_numbers_are_recorded() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    writer.append(EVENT, 1)
    writer.commit()
    writer.append(EVENT, 1)
    again = writer_of(files.after_crash())
    assert again.append(EVENT, 1) == 11, "2 * 4 numbers are reserved after 1; number 10 is the hole record"
    assert again.stop()


def test_numbers_grow_although_the_clock_goes_back() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    for at_ms in (7_200_000, 3_600_000, 3_600_001):
        writer.append(EVENT, at_ms)
    assert writer.stop()
    lines = [item.record for item in read(files) if isinstance(item, Line)]
    assert [(record.seq, record.at) for record in lines] == [(1, 7_200_000), (2, 3_600_000), (3, 3_600_001)]


# -- outages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_short_outage_loses_nothing(error: int) -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    writer.append(EVENT, 1)
    writer.commit()
    files.error = error
    writer.append(EVENT, 1)
    assert not writer.commit()
    status = writer.status()
    assert (status.state, status.failures, status.waiting_records) == ("degraded", 1, 1)
    assert str(status.reason).startswith(f"[Errno {error}]")
    writer.append(EVENT, 1)
    files.error = None
    assert writer.commit()
    assert writer.status().state == "writing"
    assert writer.stop()
    assert list(records(files)) == [1, 2, 3]
    assert verify(files).whole


def test_a_long_outage_is_recorded_as_a_hole() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    writer.append(EVENT, 1)
    writer.commit()
    files.error = errno.ENOSPC
    assert [writer.append(EVENT, 1) for _ in range(4)] == [2, 3, 4, 5]
    writer.commit()
    assert [writer.append(EVENT, 1) for _ in range(3)] == [6, 7, 8]
    assert writer.status().dropped_records == 3
    files.error = None
    writer.commit()
    assert writer.append(EVENT, 1) == 10
    assert writer.stop()
    hole = records(files)[9]
    assert isinstance(hole, JournalHole)
    assert (hole.first_missing, hole.last_missing, hole.count) == (6, 8, 3)
    assert "No space left on device" in hole.why
    assert holes(files) == [Hole(first=6, last=8, why=hole.why)]
    assert list(records(files)) == [1, 2, 3, 4, 5, 9, 10]


def test_a_hole_is_recorded_without_another_event() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    files.error = errno.ENOSPC
    for _ in range(6):
        writer.append(EVENT, 1)
    writer.commit()
    files.error = None
    writer.commit()
    writer.commit()
    assert isinstance(records(files)[7], JournalHole)


def test_an_endless_outage_assigns_only_reserved_numbers() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    files.error = errno.EROFS
    seqs = [writer.append(EVENT, 1) for _ in range(20)]
    writer.commit()
    assert seqs == [*range(1, 10), *([0] * 11)]
    with pytest.raises(JournalDegraded):
        writer.durable(0).result(0)
    again = writer_of(files.after_crash())
    assert again.append(EVENT, 1) > max(seqs)


def test_durable_in_an_outage_fails_at_once_with_the_reason() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    files.error = errno.ENOSPC
    kept = writer.durable(writer.append(EVENT, 1))
    writer.commit()
    with pytest.raises(JournalDegraded, match=r"record 1 is not on disk: .*No space left on device"):
        kept.result(0)
    dropped = [writer.append(EVENT, 1) for _ in range(5)][-1]
    with pytest.raises(JournalDegraded, match="record 6 is not on disk"):
        writer.durable(dropped).result(0)
    files.error = None
    writer.commit()
    writer.commit()
    with pytest.raises(JournalDegraded):
        writer.durable(dropped).result(0)
    assert writer.durable(1).result(0) is None, "it got there later"


def test_a_stop_in_an_outage_reports_unwritten_records() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    writer.append(EVENT, 1)
    files.error = errno.EIO
    assert not writer.stop()
    files.error = None
    assert writer_of(files).append(EVENT, 1) > 2, "it was no clean stop"


def test_a_start_on_a_broken_disk_is_degraded_and_recovers() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    writer.append(EVENT, 1)
    assert writer.stop()
    files.put(open_name(1), files.text(open_name(1)) + b"torn")
    files.error = errno.EROFS
    late = opened(files)
    assert late.writer.status().state == "degraded"
    assert late.writer.append(EVENT, 1) == 0
    files.error = None
    assert late.writer.commit()
    assert late.writer.append(EVENT, 1) == 3
    assert late.writer.stop()
    assert list(records(files)) == [1, 2, 3]
    assert records(files)[2] == JournalHole(
        first_missing=2,
        last_missing=1,
        count=1,
        why="[Errno 30] Read-only file system: 'truncate 00000000000000000001.jsonl'",
    )


def test_a_segment_deleted_while_open_is_recorded_as_a_hole() -> None:
    files = FaultyFiles()
    writer = writer_of(files)
    for _ in range(2):
        writer.append(EVENT, 1)
    writer.commit()
    del files.files[open_name(1)]
    writer.append(EVENT, 1)
    assert not writer.commit()
    assert writer.commit()
    assert writer.stop()
    assert list(records(files)) == [3, 4]
    hole = records(files)[4]
    assert isinstance(hole, JournalHole)
    assert (hole.first_missing, hole.last_missing) == (1, 2)


class BusyFiles(FaultyFiles):
    """During the first sync, more events arrive than the backlog holds and than numbers are reserved."""

    def __init__(self) -> None:
        super().__init__()
        self.writer: Writer | None = None
        self.seqs: list[int] = []

    def _end(self) -> None:
        super()._end()
        if self.calls[-1].startswith("sync") and self.writer is not None and not self.seqs:
            self.seqs = [self.writer.append(EVENT, 1) for _ in range(20)]


def test_a_burst_beyond_the_reserved_numbers_recovers_without_another_event() -> None:
    files = BusyFiles()
    writer = files.writer = writer_of(files)
    for _ in range(4):
        writer.append(EVENT, 1)
    for _ in range(3):
        writer.commit()
    assert 0 in files.seqs
    found = [event for event in records(files).values() if isinstance(event, JournalHole)]
    assert [hole.count for hole in found] == [writer.status().dropped_records]
    assert writer.append(EVENT, 1)


@pytest.mark.parametrize("is_started", [False, True])
def test_a_stop_records_what_was_dropped_just_before(is_started: bool) -> None:
    files = BusyFiles()
    writer = files.writer = writer_of(files)
    for _ in range(4):
        writer.append(EVENT, 1)
    if is_started:
        writer.start()
    assert writer.stop()
    found = [event for event in records(files).values() if isinstance(event, JournalHole)]
    assert [hole.count for hole in found] == [writer.status().dropped_records]
    assert opened(files).found.skipped is None


# -- threads -----------------------------------------------------------------------------------------------------


class WatchedFiles(FaultyFiles):
    """Signals when a number of changes has been made."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = threading.Condition()

    def _end(self) -> None:
        super()._end()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, call: str, *, times: int = 1) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: sum(made.startswith(call) for made in self.calls) >= times, 30)


@pytest.fixture
def folder(tmp_path: Path) -> FolderFiles:
    return FolderFiles(tmp_path / "journal")


@pytest.fixture
def running(folder: FolderFiles) -> Iterator[Writer]:
    options = JournalOptions(commit_ms=NEVER_MS, segment_bytes=2000, batch_bytes=1000, retry_first_s=0.001)
    writer = open_journal(folder, ns="n", boot="b", options=options, now_ms=lambda: 5).writer
    writer.start()
    yield writer
    writer.stop()


def test_the_thread_commits_by_itself() -> None:
    files = WatchedFiles()
    writer = writer_of(files, JournalOptions(commit_ms=1))
    writer.start()
    writer.append(EVENT, 1)
    assert files.wait_for("sync")
    assert writer.stop()


def test_the_thread_recovers_from_a_burst_beyond_the_reserved_numbers() -> None:
    class Watched(WatchedFiles, BusyFiles):
        pass

    files = Watched()
    writer = files.writer = writer_of(files, JournalOptions(queue_records=4, commit_ms=1))
    for _ in range(4):
        writer.append(EVENT, 1)
    writer.start()
    assert files.wait_for("sync", times=2), "the first four, and the hole"
    assert writer.stop()
    assert 0 in files.seqs
    assert [event for event in records(files).values() if isinstance(event, JournalHole)]


def test_durable_forces_a_commit(running: Writer) -> None:
    assert running.durable(running.append(EVENT, 1)).result(30) is None


def test_a_full_batch_does_not_wait(running: Writer, folder: FolderFiles) -> None:
    seq = [running.append(EVENT, 1) for _ in range(30)][-1]
    running.durable(seq).result(30)
    assert running.status().commits >= 2


def test_many_threads_append_while_segments_roll(running: Writer, folder: FolderFiles) -> None:
    taken: list[list[int]] = [[] for _ in range(4)]

    def work(mine: list[int]) -> None:
        for number in range(100):
            seq = running.append(EVENT, 1)
            mine.append(seq)
            if number % 10 == 0:
                running.durable(seq).result(30)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert running.stop()
    assert sorted(seq for mine in taken for seq in mine) == list(range(1, 401))
    assert [item.record.seq for item in read(folder) if isinstance(item, Line)] == list(range(1, 401))
    assert running.status().rolled_segments > 0
    assert verify(folder).whole


def test_the_thread_retries_by_itself() -> None:
    files = WatchedFiles()
    writer = writer_of(files, JournalOptions(commit_ms=1, retry_first_s=0.001, retry_last_s=0.002))
    files.error = errno.ENOSPC
    writer.start()
    with pytest.raises(JournalDegraded):
        writer.durable(writer.append(EVENT, 1)).result(30)
    files.error = None
    assert files.wait_for("sync")
    assert writer.stop()
    assert list(records(files)) == [1]


def test_a_waiting_caller_cannot_cancel_the_future(running: Writer) -> None:
    future = running.durable(running.append(EVENT, 1))
    assert not future.cancel()
    assert future.result(30) is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_if_the_thread_dies_all_waiters_fail() -> None:
    class Broken(FaultyFiles):
        def overwrite(self, name: str, data: bytes) -> None:
            super().overwrite(name, data)
            if len(self.calls) > 1:
                raise RuntimeError("a bug")

    writer = writer_of(Broken(), JournalOptions(queue_records=1))
    writer.append(EVENT, 1)
    writer.start()
    for _ in range(3):
        writer.append(EVENT, 1)
    for _ in range(2):
        with pytest.raises(
            JournalDegraded, match="record 1 is not on disk: the journal-writer thread ended unexpectedly"
        ):
            writer.durable(1).result(30)
    assert writer.status().reason == "the journal-writer thread ended unexpectedly"
    writer.stop()

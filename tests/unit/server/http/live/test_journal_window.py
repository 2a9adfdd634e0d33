"""Reading the journal for clients that resume: complete, in order, shared; lost records are reported."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import BinaryIO

from routebook.journal.write.options import JournalOptions
from routebook.server.http.live.journal_window import Entry, JournalWindow
from tests.support.asynchronous import asynchronous
from tests.support.faulty_files import FaultyFiles
from tests.support.http import Rig, change, rig
from tests.support.journal_events import write_segment


def window(some: Rig) -> JournalWindow:
    assert some.writer is not None
    assert some.context.journal_files is not None
    return JournalWindow(some.context.journal_files, some.writer)


async def numbers(batches: AsyncIterator[list[Entry]]) -> list[int]:
    return [entry.seq for batch in [batch async for batch in batches] for entry in batch]


def fill(some: Rig, count: int) -> None:
    assert some.writer is not None
    for number in range(count):
        some.record(change(number))
    some.writer.durable(count).result(20)


@asynchronous
async def test_all_records_after_a_sequence_number() -> None:
    with rig() as some:
        fill(some, 3000)
        journal = window(some)
        for after in (0, 1, 1500, 2999, 3000):
            assert await numbers(journal.after(after)) == list(range(after + 1, 3001))
        journal.close()


@asynchronous
async def test_new_records_are_found_by_the_next_read() -> None:
    with rig() as some:
        fill(some, 10)
        journal = window(some)
        assert await numbers(journal.after(5)) == [6, 7, 8, 9, 10]
        some.record(change(11))
        assert some.writer is not None
        some.writer.durable(11).result(20)
        assert await numbers(journal.after(5)) == [6, 7, 8, 9, 10, 11]
        assert await numbers(journal.after(10)) == [11]
        journal.close()


@asynchronous
async def test_records_of_a_segment_that_is_newer_than_the_listing_of_the_folder() -> None:
    """A full batch leaves the reader inside a listing of the folder; a segment added since is not in it."""
    with rig(options=JournalOptions(segment_bytes=2_000)) as some:
        fill(some, 500)  # as many as one batch
        journal = window(some)
        async with aclosing(journal.after(0)) as batches:
            first = await anext(batches)
            assert [entry.seq for entry in first] == list(range(1, 501))
            assert some.writer is not None
            for number in range(500, 530):
                some.record(change(number))
            some.writer.durable(530).result(20)
            assert await numbers(batches) == list(range(501, 531))
        journal.close()


@asynchronous
async def test_concurrent_readers_at_different_positions() -> None:
    with rig() as some:
        fill(some, 2500)
        journal = window(some)
        places = [0, 2400, 7, 2000, 2400, 1200, 0, 2499, 2500]
        read = await asyncio.gather(*[numbers(journal.after(place)) for place in places])
        assert read == [list(range(place + 1, 2501)) for place in places]
        journal.close()


class CountingFiles(FaultyFiles):
    """Counts how often a segment is opened for reading."""

    reads = 0

    def open(self, name: str) -> BinaryIO:
        self.reads += 1
        return super().open(name)


@asynchronous
async def test_a_thousand_clients_that_resume_read_the_disk_once() -> None:
    files = CountingFiles()
    with rig(files) as some:
        fill(some, 1000)
        journal = window(some)
        before = files.reads
        read = await asyncio.gather(*[numbers(journal.after(500 + place % 100)) for place in range(1000)])
        assert all(found[-1] == 1000 for found in read)
        assert files.reads - before <= 3
        journal.close()


@asynchronous
async def test_between_waits_for_the_disk() -> None:
    with rig(options=JournalOptions(commit_ms=10_000)) as some:
        for number in range(20):
            some.record(change(number))
        journal = window(some)
        assert await numbers(journal.between(4, 17)) == list(range(5, 18))
        assert await numbers(journal.between(17, 17)) == []
        journal.close()


@asynchronous
async def test_records_that_cannot_be_written_are_missing() -> None:
    files = FaultyFiles()
    with rig(files) as some:
        fill(some, 5)
        files.error = errno.ENOSPC
        for number in range(5):
            some.record(change(number))
        journal = window(some)
        batches = [batch async for batch in journal.between(3, 10)]
        files.error = None
        *entries, last = [entry for batch in batches for entry in batch]
        # some lines may be in the file although fsync failed
        assert [entry.seq for entry in entries] == list(range(4, 4 + len(entries)))
        assert last.missing is not None
        assert (last.missing.first, last.missing.last) == (4 + len(entries), 10)
        assert "space" in last.missing.why
        journal.close()


@asynchronous
async def test_records_removed_by_retention_are_missing() -> None:
    files = FaultyFiles()
    write_segment(files, 50, 60)
    with rig(files) as some:
        journal = window(some)
        entries = [entry for batch in [b async for b in journal.after(7)] for entry in batch]
        assert entries[0].missing is not None
        assert (entries[0].missing.first, entries[0].missing.last) == (8, 49)
        assert entries[0].missing.why == "removed by journal retention"
        assert [entry.seq for entry in entries[1:12]] == list(range(50, 61))
        journal.close()


@asynchronous
async def test_the_window_is_bounded() -> None:
    with rig() as some:
        for number in range(300):
            some.record(change(number, namespace="x" * 50_000))
        assert some.writer is not None
        some.writer.durable(300).result(20)
        journal = window(some)
        assert await numbers(journal.after(0)) == list(range(1, 301))
        assert journal._window._bytes <= 4 << 20
        assert sum(len(entry.data) for entry in journal._window._entries) == journal._window._bytes
        assert await numbers(journal.after(0)) == list(range(1, 301))
        journal.close()

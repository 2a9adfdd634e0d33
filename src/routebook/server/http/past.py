"""The journal for those who come back: read on a thread, and once for all who are about as far behind.

After a restart a thousand watchers ask for nearly the same records. What one of them had read stays for the others in
a window of bounded size, and only one at a time reads the disk to lengthen it. Who is further behind than the window
reads on its own account until it reaches it.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, NamedTuple

from routebook.errors import JournalDegraded
from routebook.journal.files import Files
from routebook.journal.lines import Damage
from routebook.journal.reader import Hole, Item, Line, read
from routebook.journal.record import Record
from routebook.journal.segments import list_segments
from routebook.journal.writer import Writer
from routebook.server.http.event_stream import Missing, of_line

_BATCH_BYTES: Final = 256 * 1024
_BATCH_RECORDS: Final = 2000
_WINDOW_BYTES: Final = 4 << 20
_DURABLE_S: Final = 5.0


class Entry(NamedTuple):
    """A record of the journal, or (record None) a stretch that is missing; `seq` is its last number."""

    seq: int
    record: Record | None
    data: bytes
    missing: Missing | None = None


class JournalPast:
    """Records of the journal after a number, in batches."""

    def __init__(self, files: Files, writer: Writer) -> None:
        self._files = files
        self._writer = writer
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="http-journal")
        self._window: list[Entry] = []
        self._window_after = 0  # the window begins after this number
        self._window_bytes = 0
        self._lengthening = asyncio.Lock()

    @property
    def last_seq(self) -> int:
        """The newest number that was handed out."""
        return self._writer.status().last_seq

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def after(self, seq: int) -> AsyncIterator[list[Entry]]:
        """Everything on disk after `seq`, until there is no more."""
        while True:
            batch = await self._next(seq)
            if not batch:
                return
            yield batch
            seq = batch[-1].seq

    async def between(self, after: int, upto: int) -> AsyncIterator[list[Entry]]:
        """Records `after + 1` to `upto`, which have been handed out: waits for the disk; what is not there is missing."""
        if after >= upto:
            return
        why = "not in the journal"
        try:
            async with asyncio.timeout(_DURABLE_S):
                await asyncio.wrap_future(self._writer.durable(upto))
        except JournalDegraded as problem:
            why = str(problem)
        except TimeoutError:
            why = "not on disk in time"
        async for batch in self.after(after):
            wanted = [entry for entry in batch if entry.seq <= upto]
            if wanted:
                yield wanted
                after = wanted[-1].seq
            if len(wanted) < len(batch):
                break
        if after < upto:
            yield [_missing(after + 1, upto, why)]

    async def _next(self, seq: int) -> list[Entry]:
        if not self._in_window(seq):
            if self._window and seq < self._window_after:
                return await self._read(seq)  # far behind: not for the others
            self._window, self._window_after, self._window_bytes = [], seq, 0
        known = self._from_window(seq)
        if known:
            return known
        async with self._lengthening:
            known = self._from_window(seq)  # somebody else may have read it meanwhile
            if known or not self._in_window(seq):
                return known or await self._read(seq)
            fresh = await self._read(seq)
            if self._in_window(seq) and seq == self._window_end:
                self._lengthen(fresh)
            return fresh

    @property
    def _window_end(self) -> int:
        return self._window[-1].seq if self._window else self._window_after

    def _in_window(self, seq: int) -> bool:
        return self._window_after <= seq <= self._window_end

    def _from_window(self, seq: int) -> list[Entry]:
        begin = bisect_right(self._window, seq, key=_seq_of)
        return self._window[begin : begin + _BATCH_RECORDS]

    def _lengthen(self, fresh: list[Entry]) -> None:
        self._window += fresh
        self._window_bytes += sum(len(entry.data) for entry in fresh)
        cut = 0
        while self._window_bytes > _WINDOW_BYTES and cut < len(self._window) - 1:
            self._window_bytes -= len(self._window[cut].data)
            cut += 1
        if cut:
            self._window_after = self._window[cut - 1].seq
            del self._window[:cut]

    async def _read(self, seq: int) -> list[Entry]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _batch, self._files, seq)


class Reading:
    """A place in the journal that is kept between batches, so that none is looked for twice."""


def _batch(files: Files, after: int) -> list[Entry]:
    entries: list[Entry] = []
    size = 0
    for item in read(files, from_seq=after + 1):
        entry = _entry(files, item)
        if entry is None:
            continue
        entries.append(entry)
        size += len(entry.data)
        if size >= _BATCH_BYTES or len(entries) >= _BATCH_RECORDS:
            break
    return entries


def _entry(files: Files, item: Item) -> Entry | None:
    if isinstance(item, Line):
        return Entry(item.record.seq, item.record, of_line(item.record.seq, item.raw))
    if isinstance(item, Hole):
        return _missing(item.first, item.last, item.why or _why(files, item))
    return None


def _why(files: Files, hole: Hole) -> str:
    segments = list_segments(files.names()).segments
    if segments and hole.last < segments[0].first:
        return "older than what the journal keeps"
    return "lost; the journal does not tell why"


def _missing(first: int, last: int, why: str) -> Entry:
    return Entry(last, None, b"", Missing(first=first, last=last, why=why))


def _seq_of(entry: Entry) -> int:
    return entry.seq

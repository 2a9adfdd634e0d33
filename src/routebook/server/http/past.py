"""The journal for those who come back: read on a thread, and once for all who are about as far behind.

After a restart a thousand watchers ask for nearly the same records. What one of them had read stays for the others for
a while, in a window of bounded size that one at a time lengthens. Who is further behind reads on its own account until
it reaches the window.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from routebook.errors import JournalDegraded
from routebook.journal.files import Files
from routebook.journal.reader import Hole, Item, Line, read
from routebook.journal.record import Record
from routebook.journal.segments import list_segments
from routebook.journal.writer import Writer
from routebook.server.http.event_stream import Missing, of_line

_BATCH_BYTES: Final = 256 * 1024
_BATCH_RECORDS: Final = 500
_WINDOW_BYTES: Final = 4 << 20
_WINDOW_S: Final = 60.0
_DURABLE_S: Final = 5.0


class Entry(NamedTuple):
    """A record of the journal, or a stretch that is missing; `seq` is its last number."""

    seq: int
    record: Record | None
    data: bytes = b""
    missing: Missing | None = None


class JournalPast:
    """Records of the journal after a number, in batches."""

    def __init__(self, files: Files, writer: Writer) -> None:
        self._files = files
        self._writer = writer
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="http-journal")
        self._window = _Window(files)
        self._lengthening = asyncio.Lock()
        self._forget: asyncio.TimerHandle | None = None

    @property
    def last_seq(self) -> int:
        """The newest number that was handed out."""
        return self._writer.status().last_seq

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._forget is not None:
            self._forget.cancel()

    async def after(self, seq: int) -> AsyncIterator[list[Entry]]:
        """Everything on disk after `seq`, until there is no more."""
        own = None
        while True:
            if not self._window.has(seq) and seq > self._window.after:
                self._window = _Window(self._files, after=seq)
            if self._window.has(seq):
                own = None
                batch = self._window.entries(seq) or await self._lengthen(seq)
            else:
                own = own or _Reading(self._files, after=seq)
                batch = await self._on_thread(own)
            if not batch:
                return
            yield batch
            seq = batch[-1].seq

    async def between(self, after: int, upto: int) -> AsyncIterator[list[Entry]]:
        """Records `after + 1` to `upto`, all of them handed out: waits for the disk; what is not there is missing."""
        if after >= upto:
            return
        why = await self._why_not_on_disk(upto)
        async for batch in self.after(after):
            wanted = [entry for entry in batch if entry.seq <= upto]
            if wanted:
                yield wanted
                after = wanted[-1].seq
            if len(wanted) < len(batch):
                break
        if after < upto:
            yield [_missing(after + 1, upto, why or "not in the journal")]

    async def _why_not_on_disk(self, seq: int) -> str | None:
        try:
            async with asyncio.timeout(_DURABLE_S):
                await asyncio.wrap_future(self._writer.durable(seq))
        except JournalDegraded as problem:
            return str(problem)
        except TimeoutError:
            return "not on disk in time"
        return None

    async def _lengthen(self, seq: int) -> list[Entry]:
        window = self._window
        async with self._lengthening:
            known = window.entries(seq)  # somebody else may have read it meanwhile
            if known:
                return known
            fresh = await self._on_thread(window.reading())
            window.add(fresh)
        loop = asyncio.get_running_loop()
        if self._forget is not None:
            self._forget.cancel()
        self._forget = loop.call_later(_WINDOW_S, self._forget_window)
        return fresh

    def _forget_window(self) -> None:
        self._window = _Window(self._files, after=self._window.end)

    async def _on_thread(self, reading: "_Reading") -> list[Entry]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, reading.batch)


class _Window:
    """The newest records that somebody has read."""

    def __init__(self, files: Files, *, after: int = 0) -> None:
        self._files = files
        self._entries: list[Entry] = []
        self._bytes = 0
        self._reading: _Reading | None = None
        self.after = after  # it begins after this number

    @property
    def end(self) -> int:
        return self._entries[-1].seq if self._entries else self.after

    def has(self, seq: int) -> bool:
        """Whether what follows `seq` is here, or is what comes next."""
        return self.after <= seq <= self.end

    def entries(self, seq: int) -> list[Entry]:
        begin = bisect_right(self._entries, seq, key=_seq_of)
        return self._entries[begin : begin + _BATCH_RECORDS]

    def reading(self) -> "_Reading":
        """What goes on where the window ends."""
        if self._reading is None:
            self._reading = _Reading(self._files, after=self.end)
        return self._reading

    def add(self, fresh: list[Entry]) -> None:
        if not fresh:
            self._reading = None  # it is at the end of what there was when it began
            return
        self._entries += fresh
        self._bytes += sum(len(entry.data) for entry in fresh)
        cut = 0
        while self._bytes > _WINDOW_BYTES and cut < len(self._entries) - 1:
            self._bytes -= len(self._entries[cut].data)
            cut += 1
        if cut:
            self.after = self._entries[cut - 1].seq
            del self._entries[:cut]


class _Reading:
    """A place in the journal, kept from one batch to the next."""

    def __init__(self, files: Files, *, after: int) -> None:
        self._files = files
        self._items = read(files, from_seq=after + 1)

    def batch(self) -> list[Entry]:
        """Blocks: for a thread. Empty at the end."""
        entries: list[Entry] = []
        size = 0
        for item in self._items:
            entry = self._entry(item)
            if entry is not None:
                entries.append(entry)
                size += len(entry.data)
                if size >= _BATCH_BYTES or len(entries) >= _BATCH_RECORDS:
                    break
        return entries

    def _entry(self, item: Item) -> Entry | None:
        if isinstance(item, Line):
            return Entry(item.record.seq, item.record, of_line(item.record.seq, item.raw))
        if isinstance(item, Hole):
            return _missing(item.first, item.last, item.why or self._why(item))
        return None  # damage; the numbers that it costs come as a hole

    def _why(self, hole: Hole) -> str:
        segments = list_segments(self._files.names()).segments
        if segments and hole.last < segments[0].first:
            return "older than what the journal keeps"
        return "lost; the journal does not tell why"


def _missing(first: int, last: int, why: str) -> Entry:
    return Entry(last, None, missing=Missing(first=first, last=last, why=why))


def _seq_of(entry: Entry) -> int:
    return entry.seq

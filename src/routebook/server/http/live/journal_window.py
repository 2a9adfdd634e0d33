"""The journal for those who come back: read on a thread, and once for all who are about as far behind.

After a restart a thousand watchers ask for nearly the same records. What one of them had read stays for the others for
a while, in a window of bounded size that one at a time lengthens. Who is further behind reads on its own account until
it reaches the window.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Final, NamedTuple

import msgspec

from routebook.errors import JournalDegraded
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Cursor, Hole, Item, Line
from routebook.journal.record import Record
from routebook.journal.segments import list_segments
from routebook.journal.write.writer import Writer
from routebook.sse import Missing, of_line

_BATCH_BYTES: Final = 256 * 1024
_BATCH_RECORDS: Final = 500
_WINDOW_BYTES: Final = 4 << 20
_WINDOW_S: Final = 60.0
_REACH: Final = 10_000  # who is so little ahead of the window waits until it gets there
_DURABLE_S: Final = 5.0


class Entry(NamedTuple):
    """A record of the journal, or a stretch that is missing; `seq` is its last number."""

    seq: int
    record: Record | None
    data: bytes = b""
    missing: Missing | None = None

    def cut(self, after: int) -> "Entry":
        """Without what of a missing stretch the reader is done with."""
        if self.missing is None or self.missing.first > after:
            return self
        return self._replace(missing=msgspec.structs.replace(self.missing, first=after + 1))


class JournalPast:
    """Records of the journal after a number, in batches."""

    def __init__(self, files: Files, writer: Writer) -> None:
        self._files = files
        self._writer = writer
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="http-journal")
        self._window = _Window(files)
        self._forget: asyncio.TimerHandle | None = None

    @property
    def last_seq(self) -> int:
        """The newest number that was handed out."""
        return self._writer.status().last_seq

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._forget is not None:
            self._forget.cancel()

    async def after(self, seq: int) -> AsyncGenerator[list[Entry], None]:
        """Everything on disk after `seq`, until there is no more."""
        own = None
        while True:
            if seq > self._window.end + _REACH and self._window.growing is None:
                self._window = _Window(self._files, after=seq)
            if self._window.after <= seq <= self._window.end + _REACH:
                own = None
                batch = await self._from_window(seq)
            else:
                own = own or _Reading(self._files, after=seq)
                batch = await self._on_thread(own)
            if not batch:
                return
            yield [batch[0].cut(seq), *batch[1:]]
            seq = batch[-1].seq

    async def between(self, after: int, upto: int) -> AsyncGenerator[list[Entry], None]:
        """Records `after + 1` to `upto`, all of them handed out: waits for the disk; what is not there is missing."""
        if after >= upto:
            return
        why = await self._why_not_on_disk(upto)
        async with aclosing(self.after(after)) as batches:
            async for batch in batches:
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

    async def _from_window(self, seq: int) -> list[Entry]:
        window = self._window
        while not (known := window.entries(seq)):
            end = window.end
            if end < self._writer.status().durable_seq:
                if window.growing is None:
                    window.growing = asyncio.get_running_loop().create_task(self._grow(window))
                await asyncio.shield(window.growing)  # it goes on for the others if this reader leaves
            if window.end == end:
                break
        if self._forget is not None:
            self._forget.cancel()
        self._forget = asyncio.get_running_loop().call_later(_WINDOW_S, self._forget_window)
        return known

    async def _grow(self, window: "_Window") -> None:
        try:
            window.add(await self._on_thread(window.reading))
        finally:
            window.growing = None

    def _forget_window(self) -> None:
        self._window = _Window(self._files, after=self._window.end)

    async def _on_thread(self, reading: "_Reading") -> list[Entry]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, reading.batch)


class _Window:
    """The newest records that somebody has read."""

    def __init__(self, files: Files, *, after: int = 0) -> None:
        self._entries: list[Entry] = []
        self._bytes = 0
        self.reading = _Reading(files, after=after)
        self.growing: asyncio.Task[None] | None = None
        self.after = after  # it begins after this number

    @property
    def end(self) -> int:
        return self._entries[-1].seq if self._entries else self.after

    def entries(self, seq: int) -> list[Entry]:
        begin = bisect_right(self._entries, seq, key=_seq_of)
        return self._entries[begin : begin + _BATCH_RECORDS]

    def add(self, fresh: list[Entry]) -> None:
        """What comes next."""
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
        self._items = _items(files, after=after)

    def batch(self) -> list[Entry]:
        """Blocks: for a thread. Empty at the end, as long as nothing is added to the journal."""
        entries: list[Entry] = []
        size = 0
        for item in self._items:
            if item is None:
                break
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
            return _missing(item.first, item.last, item.why or self._why(item), certain=item.certain)
        return None  # damage; the numbers that it costs come as a hole

    def _why(self, hole: Hole) -> str:
        segments = list_segments(self._files.names()).segments
        if segments and hole.last < segments[0].first:
            return "older than what the journal keeps"
        return "lost; the journal does not tell why"


def _items(files: Files, *, after: int) -> Iterator[Item | None]:
    """What there is after a number, then None, then what has come since, and so on."""
    cursor = Cursor(from_seq=after + 1)
    while True:
        segments = list_segments(files.names()).segments
        begin = max((index for index, segment in enumerate(segments) if segment.first <= cursor.wanted), default=0)
        cursor.skip_reread()
        for segment in segments[begin:]:
            for item in cursor.items(files, segment):
                if not (isinstance(item, Damage) and item.unfinished):
                    yield item
        yield None


def _missing(first: int, last: int, why: str, *, certain: bool = True) -> Entry:
    return Entry(last, None, missing=Missing(first=first, last=last, why=why, certain=certain))


def _seq_of(entry: Entry) -> int:
    return entry.seq

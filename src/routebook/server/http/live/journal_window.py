"""Reads the journal for clients that resume: on a thread, and once for all clients at about the same position.

After a restart, a thousand watchers request nearly the same records. The newest records that one of them read stay in
a window of bounded size for the others. A client further behind reads on its own until it reaches the window.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Final, NamedTuple

import msgspec

from routebook.errors import JournalDegraded
from routebook.journal.chain import without_link
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Cursor, Hole, Item, Line
from routebook.journal.record import Record
from routebook.journal.segments import list_segments
from routebook.journal.write.writer import Writer
from routebook.sse import Missing, of_line

_BATCH_BYTES: Final = 256 * 1024
_BATCH_RECORDS: Final = 500
_MAX_WINDOW_BYTES: Final = 4 << 20
_WINDOW_TTL_S: Final = 60.0
_MAX_AHEAD: Final = 10_000  # a reader this far ahead of the window waits until the window gets there
_DURABLE_TIMEOUT_S: Final = 5.0


class Entry(NamedTuple):
    """A record, or a range of missing records; `seq` is its last sequence number."""

    seq: int
    record: Record | None
    data: bytes = b""
    missing: Missing | None = None

    def cut(self, after: int) -> "Entry":
        """A missing range without the part that the reader already has."""
        if self.missing is None or self.missing.first > after:
            return self
        return self._replace(missing=msgspec.structs.replace(self.missing, first=after + 1))


class JournalWindow:
    """Yields batches of records after a sequence number."""

    def __init__(self, files: Files, writer: Writer) -> None:
        self._files = files
        self._writer = writer
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="http-journal")
        self._window = _Buffer(files)
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def last_seq(self) -> int:
        """The newest assigned sequence number."""
        return self._writer.status().last_seq

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._expiry is not None:
            self._expiry.cancel()

    async def after(self, seq: int) -> AsyncGenerator[list[Entry], None]:
        """All records on disk after `seq`."""
        own = None
        while True:
            if seq > self._window.end + _MAX_AHEAD and self._window.growing is None:
                self._window = _Buffer(self._files, after=seq)
            if self._window.after <= seq <= self._window.end + _MAX_AHEAD:
                own = None
                batch = await self._from_window(seq)
            else:
                own = own or _Position(self._files, after=seq)
                batch = await self._on_thread(own)
            if not batch:
                return
            yield [batch[0].cut(seq), *batch[1:]]
            seq = batch[-1].seq

    async def between(self, after: int, upto: int) -> AsyncGenerator[list[Entry], None]:
        """Records `after + 1` to `upto`, all assigned before: waits for the disk and reports lost ones as missing."""
        if after >= upto:
            return
        why = await self._wait_for_disk(upto)
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

    async def _wait_for_disk(self, seq: int) -> str | None:
        """Wait until a record is on disk; returns the reason if that fails."""
        try:
            async with asyncio.timeout(_DURABLE_TIMEOUT_S):
                await asyncio.wrap_future(self._writer.durable(seq))
        except JournalDegraded as problem:
            return str(problem)
        except TimeoutError:
            return "not written to disk in time"
        return None

    async def _from_window(self, seq: int) -> list[Entry]:
        window = self._window
        while not (known := window.entries(seq)):
            end = window.end
            if end < self._writer.status().durable_seq:
                if window.growing is None:
                    window.growing = asyncio.get_running_loop().create_task(self._grow(window))
                await asyncio.shield(window.growing)  # continues for the others if this reader disconnects
            if window.end == end:
                break
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = asyncio.get_running_loop().call_later(_WINDOW_TTL_S, self._drop_window)
        return known

    async def _grow(self, window: "_Buffer") -> None:
        try:
            window.add(await self._on_thread(window.position))
        finally:
            window.growing = None

    def _drop_window(self) -> None:
        self._window = _Buffer(self._files, after=self._window.end)

    async def _on_thread(self, position: "_Position") -> list[Entry]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, position.batch)


class _Buffer:
    """The newest records that were read, shared by all readers."""

    def __init__(self, files: Files, *, after: int = 0) -> None:
        self._entries: list[Entry] = []
        self._bytes = 0
        self.position = _Position(files, after=after)
        self.growing: asyncio.Task[None] | None = None
        self.after = after  # sequence number before its first record

    @property
    def end(self) -> int:
        return self._entries[-1].seq if self._entries else self.after

    def entries(self, seq: int) -> list[Entry]:
        begin = bisect_right(self._entries, seq, key=lambda entry: entry.seq)
        return self._entries[begin : begin + _BATCH_RECORDS]

    def add(self, fresh: list[Entry]) -> None:
        """Append records and remove the oldest above the size limit."""
        self._entries += fresh
        self._bytes += sum(len(entry.data) for entry in fresh)
        cut = 0
        while self._bytes > _MAX_WINDOW_BYTES and cut < len(self._entries) - 1:
            self._bytes -= len(self._entries[cut].data)
            cut += 1
        if cut:
            self.after = self._entries[cut - 1].seq
            del self._entries[:cut]


class _Position:
    """A position in the journal."""

    def __init__(self, files: Files, *, after: int) -> None:
        self._files = files
        self._items = _items(files, after=after)

    def batch(self) -> list[Entry]:
        """The next records; empty at the end of the journal. Blocks."""
        entries: list[Entry] = []
        size = passes = 0
        for item in self._items:
            if item is None:
                passes += 1
                if entries or passes > 1:
                    break
                continue  # that pass may have listed the folder before the newest segment was added
            entry = self._entry(item)
            if entry is not None:
                entries.append(entry)
                size += len(entry.data)
                if size >= _BATCH_BYTES or len(entries) >= _BATCH_RECORDS:
                    break
        return entries

    def _entry(self, item: Item) -> Entry | None:
        if isinstance(item, Line):
            return Entry(item.record.seq, item.record, of_line(item.record.seq, without_link(item.raw)))
        if isinstance(item, Hole):
            return _missing(item.first, item.last, item.why or self._why(item), certain=item.certain)
        return None  # damage: the lost records follow as a hole

    def _why(self, hole: Hole) -> str:
        segments = list_segments(self._files.names()).segments
        if segments and hole.last < segments[0].first:
            return "removed by journal retention"
        return "lost for an unknown reason"


def _items(files: Files, *, after: int) -> Iterator[Item | None]:
    """Items after a sequence number; None at the end of the journal, then items added since, and so on."""
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

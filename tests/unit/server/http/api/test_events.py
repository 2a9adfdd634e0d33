"""The event stream: no gaps and no duplicates, wherever a watcher joins."""

import asyncio
import random

import pytest

from routebook.events import BrokerDown, DownReason
from routebook.journal.files import Files
from routebook.journal.read.select import Selection
from routebook.journal.record import decode_record
from routebook.journal.write.options import JournalOptions
from routebook.server.http.api import events
from routebook.server.http.api.events import EventStream
from routebook.server.http.live.journal_window import JournalWindow
from routebook.server.state.feed import EVERYTHING
from tests.support.asynchronous import asynchronous
from tests.support.faulty_files import FaultyFiles
from tests.support.http import Rig, ServerSent, StreamParser, change, rig, until
from tests.support.journal_events import write_segment

DOWN = BrokerDown(cluster="c", broker="b", broker_id=0, addr="a:1", reason=DownReason.CLOSED)


class Watcher:
    """Reads one stream."""

    def __init__(self, some: Rig, *, after: int | None = None, wanted: Selection = EVERYTHING) -> None:
        journal = None
        if some.writer is not None and some.context.journal_files is not None:
            journal = JournalWindow(some.context.journal_files, some.writer)
        self.journal = journal
        self._chunks = EventStream(some.feed, journal, wanted).chunks(after)
        self._parser = StreamParser()
        self._found: list[ServerSent] = []

    @property
    def id(self) -> str:
        return self._parser.id

    async def next(self) -> ServerSent:
        while not self._found:
            self._found += self._parser.feed(await anext(self._chunks))
        return self._found.pop(0)

    async def numbers(self, count: int) -> list[int]:
        return [int((await self.next()).id) for _ in range(count)]

    async def rest(self) -> list[ServerSent]:
        """All events until the server ends the stream."""
        async for chunk in self._chunks:
            self._found += self._parser.feed(chunk)
        found, self._found = self._found, []
        return found

    async def close(self) -> None:
        await self._chunks.aclose()
        if self.journal is not None:
            self.journal.close()


@asynchronous
async def test_a_new_watcher_gets_new_events() -> None:
    with rig() as some:
        some.record(change(1))
        watcher = Watcher(some)
        first = asyncio.ensure_future(watcher.next())
        await until(lambda: some.feed.readers == 1)
        some.record(change(2))
        sent = await first
        assert (sent.id, sent.event) == ("2", "message")
        assert decode_record(sent.data.encode()).event == change(2)
        await watcher.close()
        assert some.feed.readers == 0


@asynchronous
async def test_a_resuming_watcher_gets_the_journal_first() -> None:
    with rig() as some:
        for number in range(1, 1201):
            some.record(change(number))
        watcher = Watcher(some, after=100)
        assert await watcher.numbers(1100) == list(range(101, 1201))
        some.record(change(1201))
        assert await watcher.numbers(1) == [1201]
        await watcher.close()


@pytest.mark.parametrize("seed", range(12))
@asynchronous
async def test_no_gaps_and_no_duplicates_wherever_watchers_join(seed: int) -> None:
    rng = random.Random(seed)
    options = JournalOptions(commit_ms=rng.choice((0, 1, 20)), segment_bytes=rng.choice((2_000, 1 << 24)))
    with rig(options=options) as some:
        total = 1500

        async def write() -> None:
            for number in range(total):
                some.record(change(number))
                if rng.random() < 0.05:
                    await asyncio.sleep(rng.choice((0, 0.001, 0.003)))

        async def watch() -> None:
            await asyncio.sleep(rng.random() * 0.1)
            assert some.writer is not None
            after = rng.randint(0, some.writer.status().last_seq)
            watcher = Watcher(some, after=after)
            seen = after
            while seen < total:
                stop_at = rng.randint(seen + 1, total)
                expected = list(range(seen + 1, stop_at + 1))
                assert await watcher.numbers(len(expected)) == expected
                seen = stop_at
                if rng.random() < 0.5:  # reconnects with its last id
                    seen = int(watcher.id)
                    await watcher.close()
                    watcher = Watcher(some, after=seen)
            await watcher.close()

        await asyncio.gather(write(), *[watch() for _ in range(6)])


@asynchronous
async def test_a_filter_selects_events_and_the_id_still_advances() -> None:
    wanted = Selection(kinds=frozenset({"broker_down"}))
    with rig() as some:
        for number in range(1, 51):
            some.record(DOWN if number % 10 == 0 else change(number))
        watcher = Watcher(some, after=5, wanted=wanted)
        assert await watcher.numbers(5) == [10, 20, 30, 40, 50]
        some.record(change(51))
        some.record(DOWN)
        assert await watcher.numbers(1) == [52]
        await watcher.close()
        nothing = Watcher(some, after=5, wanted=Selection(topics=frozenset({"no such topic"})))
        waiting = asyncio.ensure_future(nothing.next())
        await until(lambda: nothing.id == "52")
        waiting.cancel()


@asynchronous
async def test_records_that_only_the_journal_has_are_read_from_it() -> None:
    with rig() as some:
        assert some.writer is not None
        some.record(change(1))
        watcher = Watcher(some, after=0)
        assert await watcher.numbers(1) == [1]
        some.writer.append(change(2), 1)  # as the writer does when it records a hole
        some.record(change(3))
        assert await watcher.numbers(2) == [2, 3]
        await watcher.close()


@asynchronous
async def test_a_slow_watcher_is_dropped_and_resumes_without_loss() -> None:
    with rig() as some:
        watcher = Watcher(some, after=0)
        some.record(change(1))
        assert await watcher.numbers(1) == [1]
        for number in range(2, 3000):
            some.record(change(number))
        *seen, last = await watcher.rest()
        assert last.event == "dropped"
        assert last.json["resume_after"] == int(last.id) == 1 + len(seen)
        again = Watcher(some, after=int(last.id))
        assert await again.numbers(2999 - int(last.id)) == list(range(int(last.id) + 1, 3000))
        await again.close()
        await watcher.close()


@asynchronous
async def test_records_removed_by_retention_are_reported_before_the_oldest_one() -> None:
    files = FaultyFiles()
    write_segment(files, 50, 60)
    with rig(files) as some:
        watcher = Watcher(some, after=7)
        missing = await watcher.next()
        assert (missing.event, missing.id) == ("missing", "49")
        assert missing.json == {"first": 8, "last": 49, "why": "removed by journal retention", "certain": True}
        assert await watcher.numbers(11) == list(range(50, 61))
        await watcher.close()


@asynchronous
async def test_an_unknown_id_resets_the_stream_to_new_events() -> None:
    with rig() as some:
        some.record(change(1))
        watcher = Watcher(some, after=5000)
        reset = await watcher.next()
        assert (reset.event, reset.json["last_event_id"], reset.json["last_seq"]) == ("reset", 5000, 1)
        waiting = asyncio.ensure_future(watcher.next())
        await until(lambda: some.feed.readers == 1)
        some.record(change(2))
        assert (await waiting).id == "2"
        await watcher.close()


@asynchronous
async def test_without_a_journal_past_records_are_missing() -> None:
    some = Rig(None, None)
    some.record(change(1))
    some.record(change(2))
    watcher = Watcher(some, after=0)
    missing = await watcher.next()
    assert missing.json == {"first": 1, "last": 2, "why": "the journal is off", "certain": True}
    some.record(change(3))
    assert await watcher.numbers(1) == [3]
    await watcher.close()


@asynchronous
async def test_a_stopping_server_ends_the_stream_with_an_event() -> None:
    with rig() as some:
        some.record(change(1))
        watcher = Watcher(some, after=0)
        assert await watcher.numbers(1) == [1]
        some.record(change(2))
        some.feed.close()
        last, stopping = await watcher.rest()
        assert (last.id, stopping.id, stopping.event) == ("2", "2", "stopping")
        assert some.feed.readers == 0


@asynchronous
async def test_an_idle_stream_sends_keep_alives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.01)
    with rig() as some:
        some.record(change(1))
        chunks = EventStream(some.feed, None, EVERYTHING).chunks(None)
        assert (await anext(chunks)).startswith(b"retry: ")
        assert await anext(chunks) == b": alive\nid: 1\n\n"
        some.record(change(2), at_ms=5)
        assert (await anext(chunks)).startswith(b"id: 2\ndata: ")


class BrokenFiles(FaultyFiles):
    """A folder that becomes unreadable."""

    gone = False

    def names(self) -> list[str]:
        if self.gone:
            raise PermissionError(13, "Permission denied")
        return super().names()


@asynchronous
async def test_an_unreadable_journal_ends_only_the_stream() -> None:
    files: Files = BrokenFiles()
    with rig(files) as some:
        some.record(change(1))
        assert isinstance(files, BrokenFiles)
        assert some.writer is not None
        some.writer.durable(1).result(20)
        files.gone = True
        watcher = Watcher(some, after=0)
        (dropped,) = await watcher.rest()
        assert (dropped.event, dropped.json["resume_after"]) == ("dropped", 0)
        assert dropped.json["why"] == "cannot read the journal: Permission denied"
        files.gone = False
        assert some.feed.readers == 0


@asynchronous
async def test_a_new_client_misses_no_event_after_the_opening() -> None:
    """The stream is subscribed before its first bytes are sent, so a client may look at the state when they arrive."""
    with rig() as some:
        chunks = EventStream(some.feed, None, EVERYTHING).chunks(None)
        assert (await anext(chunks)).startswith(b"retry:")
        some.record(DOWN)  # the generator has not been resumed since
        async with asyncio.timeout(20):
            assert b'"kind":"broker_down"' in await anext(chunks)
        await chunks.aclose()

"""Sequence numbers, limits, and the holes recorded for dropped records."""

from routebook.events import JournalHole, ServerStopped
from routebook.journal.record import decode_record
from routebook.journal.write.backlog import Backlog
from routebook.journal.write.options import JournalOptions
from tests.support.journal_events import ENCODER

EVENT = ServerStopped(reason="x")
SIZE = len(ENCODER.line(EVENT, seq=1, at_ms=0))


def backlog(*, records: int = 4, size: int = 10_000, limit: int = 100) -> Backlog:
    made = Backlog(ENCODER, next_seq=1, options=JournalOptions(queue_records=records, queue_bytes=size))
    made.limit = limit
    return made


def add(to: Backlog, count: int) -> list[int]:
    return [to.add(EVENT, 0, why_full="full") for _ in range(count)]


def test_numbers_grow_by_one() -> None:
    assert add(backlog(), 3) == [1, 2, 3]


def test_records_stay_queued_until_done() -> None:
    waiting = backlog()
    add(waiting, 3)
    assert [pending.seq for pending in waiting.front(SIZE + 1)] == [1, 2]
    assert [pending.seq for pending in waiting.front(1)] == [1]
    waiting.done(2)
    assert [pending.seq for pending in waiting.front(10_000)] == [3]
    assert (len(waiting), waiting.bytes) == (1, SIZE)


def test_a_dropped_record_keeps_its_number_and_is_recorded_as_a_hole() -> None:
    waiting = backlog()
    assert add(waiting, 7) == [1, 2, 3, 4, 5, 6, 7]
    assert (len(waiting), waiting.dropped) == (4, 3)
    assert [waiting.is_dropped(seq) for seq in (4, 5, 7)] == [False, True, True]
    waiting.done(1)
    assert add(waiting, 1) == [8], "less than half is free: still dropped, so that holes are few"
    waiting.done(1)
    assert add(waiting, 1) == [10]
    hole, after = (decode_record(pending.line) for pending in waiting.front(10_000)[2:])
    assert (hole.seq, hole.event) == (9, JournalHole(first_missing=5, last_missing=8, count=4, why="full"))
    assert (after.seq, after.event) == (10, EVENT)
    assert [waiting.is_dropped(seq) for seq in (4, 5, 8, 9, 10)] == [False, True, True, False, False]


def test_the_backlog_is_limited_in_bytes() -> None:
    waiting = backlog(size=2 * SIZE)
    add(waiting, 5)
    assert (len(waiting), waiting.dropped) == (2, 3)


def test_beyond_the_reserved_numbers_events_are_only_counted() -> None:
    waiting = backlog(records=2, limit=4)
    assert add(waiting, 7) == [1, 2, 3, 4, 0, 0, 0]
    waiting.done(2)
    assert add(waiting, 1) == [0], "also the hole needs a number"
    waiting.limit = 100
    assert add(waiting, 1) == [6]
    hole = decode_record(waiting.front(1)[0].line)
    assert (hole.seq, hole.event) == (5, JournalHole(first_missing=3, last_missing=4, count=6, why="full"))


def test_a_hole_is_recorded_at_once() -> None:
    waiting = backlog(records=1)
    add(waiting, 1)
    waiting.record_hole(7, 8, why="gone", at_ms=3, certain=False)
    record = decode_record(waiting.front(10_000)[1].line)
    assert record.event == JournalHole(first_missing=7, last_missing=8, count=2, why="gone", certain=False)
    assert waiting.is_dropped(7)

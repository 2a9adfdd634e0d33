"""After any fault of process or disk: durable records are present once and in order, missing ones are reported."""

import errno
import random
from concurrent.futures import Future

from hypothesis import given, settings
from hypothesis import strategies as st

from routebook.events import Event, JournalHole, ServerStopped
from routebook.journal.read.reader import Hole, Line, read
from routebook.journal.read.verify import verify
from routebook.journal.record import Record, decode_record, encode_record
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from tests.support.faulty_files import Crash, FaultyFiles

OPTIONS = JournalOptions(segment_bytes=700, batch_bytes=400, queue_records=12)

APPEND, BURST, COMMIT, DURABLE, ROLL, BREAK, HEAL = range(7)
STEPS = st.lists(st.sampled_from([APPEND, BURST, COMMIT, DURABLE, ROLL, BREAK, HEAL]), max_size=40)
BOOTS = st.lists(st.tuples(STEPS, st.integers(0, 60) | st.none(), st.booleans()), min_size=1, max_size=6)


class Reported:
    """What the journal reported over all starts."""

    def __init__(self) -> None:
        self.events: dict[int, Event] = {}
        self.durable: set[int] = set()
        self.dropped: set[int] = set()


class Boot:
    """One start of a writer, without its threads."""

    def __init__(self, files: FaultyFiles, number: int, reported: Reported) -> None:
        self.reported = reported
        self.files = files
        self.now_ms = 1_700_000_000_000 - number * 3_600_000  # the clock jumps back with every start
        opened = open_journal(files, ns="n", boot=f"b{number}", options=OPTIONS, now_ms=lambda: self.now_ms)
        self.writer: Writer = opened.writer
        self.waiting: list[tuple[int, Future[None]]] = []
        self.mine: set[int] = set()

    def step(self, step: int) -> None:
        if step == APPEND:
            self.append()
        elif step == BURST:
            for _ in range(9):
                self.append()
        elif step == COMMIT:
            self.writer.commit()
        elif step == DURABLE:
            seq = self.append()
            self.waiting.append((seq, self.writer.durable(seq)))
            self.writer.commit()
        elif step == ROLL:
            self.writer.roller.run_once()
        elif step == BREAK:
            self.files.error = errno.ENOSPC
        else:
            self.files.error = None
        self.look()

    def append(self) -> int:
        self.now_ms += 7
        before = self.writer.status().dropped_records
        event = ServerStopped(reason=f"event {len(self.reported.events)}")
        seq = self.writer.append(event, self.now_ms)
        if not seq:  # not even a number could be promised
            assert self.writer.status().dropped_records > before
            return seq
        assert seq not in self.reported.events, "a number is never used twice"
        self.reported.events[seq] = event
        self.mine.add(seq)
        if self.writer.status().dropped_records > before:
            self.reported.dropped.add(seq)
        return seq

    def look(self) -> None:
        for seq, future in self.waiting:
            if future.done() and future.exception() is None:
                self.reported.durable.add(seq)
        self.waiting = [waiting for waiting in self.waiting if not waiting[1].done()]


@settings(max_examples=200, deadline=None)
@given(boots=BOOTS, seed=st.integers(0, 2**32))
def test_crashes_lose_nothing_that_was_durable(boots: list[tuple[list[int], int | None, bool]], seed: int) -> None:
    files = FaultyFiles(rng=random.Random(seed))
    reported = Reported()
    for number, (steps, crash_in, is_killed) in enumerate(boots):
        files.crash_in = crash_in
        boot = None
        try:
            boot = Boot(files, number, reported)
            for step in steps:
                boot.step(step)
            if is_killed:
                raise Crash
            files.error = None
            boot.writer.commit()
            assert boot.writer.stop()
            boot.look()
            reported.durable |= boot.mine - reported.dropped  # an orderly stop writes all there is
        except Crash:
            if boot is not None:
                boot.look()
            files = files.after_crash()
    check(files, reported)
    # and once more, in peace: nothing that a crash left is left
    files.crash_in = None
    final = Boot(files, 99, reported)
    final.append()
    assert final.writer.stop()
    final.writer.roller.run_once()
    check(files, reported)


def check(files: FaultyFiles, reported: Reported) -> None:
    lines: list[Line] = []
    holes: list[Hole] = []
    for item in read(files, from_seq=1):
        if isinstance(item, Line):
            lines.append(item)
        elif isinstance(item, Hole):
            holes.append(item)
        else:
            assert item.unfinished, item
    seqs = [line.record.seq for line in lines]
    assert seqs == sorted(set(seqs)), "numbers grow"
    for line in lines:
        if not isinstance(line.record.event, JournalHole):
            assert line.record.event == reported.events[line.record.seq]
    present = set(seqs)
    assert reported.durable <= present
    assert not reported.dropped & present
    missing = {seq for hole in holes for seq in range(hole.first, hole.last + 1)}
    assert missing == set(range(1, max(seqs, default=0) + 1)) - present
    report = verify(files)
    assert all(hole.why for hole in (*report.holes, *report.skipped)), "the journal itself tells of every hole"
    assert {seq for hole in report.holes for seq in range(hole.first, hole.last + 1)} <= reported.dropped


_text = st.text(max_size=20)


@given(seq=st.integers(1, 2**63 - 1), at=st.integers(0, 2**53), ns=_text, boot=_text, reason=_text)
def test_a_record_comes_back_as_it_was(seq: int, at: int, ns: str, boot: str, reason: str) -> None:
    record = Record(1, ns, boot, seq, at, ServerStopped(reason=reason))
    line = encode_record(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_record(line) == record

"""Verification finds every alteration and removal, alone or with a peer's head."""

from collections.abc import Callable

import pytest

from routebook.events import ServerStopped
from routebook.journal.chain import ChainHead, chain_after
from routebook.journal.expired import write_expired
from routebook.journal.files import Files
from routebook.journal.read.verify import Report, verify
from routebook.journal.segments import list_segments, open_name
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import linked, pending, write_segment

RECORDS = 40


def writer_of(files: Files, *, segment_bytes: int = 1500) -> Writer:
    options = JournalOptions(segment_bytes=segment_bytes)
    return open_journal(files, ns="n", boot="b", options=options, now_ms=lambda: 1).writer


def journal(*, starts: int = 3, clean: bool = True) -> tuple[FaultyFiles, ChainHead]:
    """A journal of several starts with several plain segments each, and its head."""
    files = FaultyFiles()
    for _ in range(starts):
        writer = writer_of(files)
        for number in range(RECORDS):
            writer.append(ServerStopped(reason=f"r{number}"), number)
            if number % 3 == 0:
                assert writer.commit()
        assert writer.stop() if clean else writer.commit()
    seq, head = writer.heads()["journal"]
    return files, ChainHead(ns="n", stream="journal", seq=seq, head=head)


def check(files: Files, *witnesses: ChainHead) -> Report:
    return verify(files, witnesses=witnesses)


def test_an_untouched_journal_is_whole() -> None:
    files, head = journal()
    report = check(files, head)
    assert report.whole
    assert (report.chained_since, report.heads_compared, report.breaks) == (1, 1, ())
    assert report.records == 3 * RECORDS
    assert len(list_segments(files.names()).segments) > 6


def test_a_journal_after_a_crash_is_whole() -> None:
    files, head = journal(clean=False)
    files.put("00000000000000000099.jsonl.tmp", b"x")
    report = check(files, head)
    assert (report.whole, report.heads_compared) == (True, 1)


def test_heads_of_every_moment_match() -> None:
    files, heads = FaultyFiles(), []
    for _ in range(2):
        writer = writer_of(files)
        for number in range(RECORDS):
            writer.append(ServerStopped(reason=f"r{number}"), number)
            writer.commit()
            seq, head = writer.heads()["journal"]
            heads.append(ChainHead(ns="n", stream="journal", seq=seq, head=head))
        writer.stop()
    assert check(files, *heads).heads_compared == 2 * RECORDS
    assert check(files, *heads).whole


def changed_byte(files: FaultyFiles, name: str) -> None:
    files.put(name, files.text(name).replace(b'"reason":"r', b'"reason":"x', 1))


def removed_line(files: FaultyFiles, name: str) -> None:
    first, second, rest = files.text(name).split(b"\n", 2)
    renumbered = rest if rest else second  # the hole is reported, too
    files.put(name, first + b"\n" + renumbered)


def renumbered_line(files: FaultyFiles, name: str) -> None:
    """Replace a record by a repetition of its neighbour, so that no number is missing."""
    lines = files.text(name).splitlines(keepends=True)
    lines[1] = lines[2].replace(b'"seq":%d' % seq_of(lines[2]), b'"seq":%d' % seq_of(lines[1]))
    files.put(name, b"".join(lines))


def seq_of(line: bytes) -> int:
    return int(line.partition(b'"seq":')[2].partition(b",")[0])


@pytest.mark.parametrize("tamper", [changed_byte, removed_line, renumbered_line])
@pytest.mark.parametrize("where", [0, 2, 5])
def test_tampering_in_the_middle_breaks_the_chain(tamper: Callable[[FaultyFiles, str], None], where: int) -> None:
    files, _ = journal()
    tamper(files, list_segments(files.names()).segments[where].name)
    report = check(files)
    assert not report.whole
    assert report.breaks
    assert report.breaks[0].reason == "the hash of these records is different"


def test_a_removed_segment_breaks_the_chain() -> None:
    files, _ = journal()
    _, second, third, *_ = list_segments(files.names()).segments
    files.remove(second.name)
    (found,) = check(files).breaks
    assert (found.first, found.last) == (1, third.first)


def test_a_removed_beginning_is_reported_unless_retention_removed_it() -> None:
    files, _ = journal()
    first, second, *_ = list_segments(files.names()).segments
    files.remove(first.name)
    (found,) = check(files).breaks
    assert (found.first, found.last) == (1, second.first - 1)
    assert "retention did not remove it" in found.reason
    write_expired(files, second.first - 1)
    assert check(files).whole


def test_a_truncated_end_shows_against_the_head_of_a_peer() -> None:
    files, head = journal(starts=1, clean=False)
    *_, last = list_segments(files.names()).segments
    files.remove(last.name)
    assert check(files).whole, "without a witness the end may be a crash"
    (found,) = check(files, head).breaks
    assert found.last == head.seq
    assert "the end is missing" in found.reason


def test_a_rewritten_journal_shows_against_the_head_of_a_peer() -> None:
    """Everything is recomputed by an attacker who can write the folder; only a copy of the head elsewhere helps."""
    files, head = journal(starts=1, clean=False)
    text = b"".join(files.text(segment.name) for segment in list_segments(files.names()).segments)
    forged, after = FaultyFiles(), b""
    lines = [line.partition(b',"chain"')[0].rstrip(b"}") + b"}\n" for line in text.splitlines()]
    lines[3] = lines[3].replace(b'"reason":"r', b'"reason":"x')
    chain = chain_after(after)
    forged.put(open_name(1), chain.link(lines[0]) + b"".join(lines[1:]))
    assert check(forged).whole
    (found,) = check(forged, head).breaks
    assert found.reason == "another NameServer has seen another hash"


def test_a_head_of_a_record_that_is_missing_in_the_middle() -> None:
    files, _ = journal(starts=1)
    head = ChainHead(ns="n", stream="journal", seq=20, head="0" * 64)
    for segment in list_segments(files.names()).segments:
        lines = files.text(segment.name).splitlines(keepends=True)
        files.put(segment.name, b"".join(line for line in lines if seq_of(line) != 20))
    reasons = {found.reason for found in check(files, head).breaks}
    assert "the record is missing: another NameServer has seen it" in reasons


def test_a_journal_of_an_older_release_is_protected_from_the_next_start_on() -> None:
    files = FaultyFiles()
    files.put(open_name(1), b"".join(pending(seq).line for seq in range(1, 6)))
    assert check(files).whole
    assert check(files).chained_since is None
    writer = writer_of(files)
    for _ in range(3):
        writer.append(ServerStopped(reason="r"), 1)
    writer.stop()
    report = check(files)
    assert report.whole
    assert report.chained_since is not None
    assert report.chained_since > 5


def test_a_chain_that_starts_again_is_a_break() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5)
    files.put(open_name(6), linked(pending(6), pending(7)))
    (found,) = check(files).breaks
    assert (found.first, found.last, found.reason) == (1, 6, "the chain starts again")

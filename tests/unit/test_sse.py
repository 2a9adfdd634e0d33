"""Server-sent events as bytes, read back as a browser reads them."""

import pytest

from routebook.journal.record import FORMAT_VERSION, Record, decode_record
from routebook.sse import (
    Dropped,
    Missing,
    Reset,
    ServerSentEvent,
    SseReader,
    Stopping,
    alive,
    of_notice,
    of_record,
    opening,
)
from tests.support.http import ServerSent, StreamParser
from tests.support.journal_events import EVERY_KIND


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_every_kind_of_record_arrives_as_it_is_in_the_journal(event: object) -> None:
    record = Record(FORMAT_VERSION, "n", "b", 7, 1, event)  # type: ignore[arg-type]  # one of the events
    (sent,) = StreamParser().feed(of_record(record))
    assert (sent.id, sent.event) == ("7", "message")
    assert decode_record(sent.data.encode()) == record


def test_a_record_without_number_has_no_id() -> None:
    parser = StreamParser()
    parser.feed(of_record(Record(FORMAT_VERSION, "n", "b", 7, 1, EVERY_KIND[0])))
    (sent,) = parser.feed(of_record(Record(FORMAT_VERSION, "n", "b", 0, 1, EVERY_KIND[0])))
    assert sent.id == "7"  # what to resume from stays


def test_the_opening_is_no_event() -> None:
    parser = StreamParser()
    assert parser.feed(opening()) == []
    assert parser.comments == 1


def test_a_sign_of_life_moves_the_id_and_is_no_event() -> None:
    parser = StreamParser()
    assert parser.feed(alive(after=12)) == []
    assert parser.id == "12"
    assert parser.feed(alive(after=0)) == []
    assert parser.id == "12"


def test_what_is_not_a_record_has_a_name() -> None:
    parser = StreamParser()
    (missing,) = parser.feed(of_notice(Missing(first=3, last=9, why="a\nb"), after=9))
    assert missing == ServerSent("9", "missing", '{"first":3,"last":9,"why":"a\\nb","certain":true}')
    (dropped,) = parser.feed(of_notice(Dropped(resume_after=11), after=11))
    assert (dropped.id, dropped.event, dropped.json["resume_after"]) == ("11", "dropped", 11)
    (stopping,) = parser.feed(of_notice(Stopping(resume_after=12), after=12))
    assert (stopping.id, stopping.event) == ("12", "stopping")
    (reset,) = parser.feed(of_notice(Reset(last_event_id=99, last_seq=5), after=0))
    assert (reset.event, reset.json["last_seq"]) == ("reset", 5)


def test_the_reader_assembles_events_from_lines() -> None:
    reader = SseReader()
    text = b": hello\r\nevent: x\r\nid: 1\r\ndata: a\r\ndata:b\r\n\r\nid: 2\r\n\r\nretry: 5\r\ndata\r\n\r\n"
    found = [event for line in text.splitlines(keepends=True) if (event := reader.feed_line(line)) is not None]
    assert found == [ServerSentEvent("1", "x", b"a\nb"), ServerSentEvent("2", "message", b"")]


def test_the_reader_keeps_the_id_of_a_keep_alive() -> None:
    reader = SseReader("7")
    assert [reader.feed_line(line) for line in alive(after=12).splitlines(keepends=True)] == [None, None, None]
    assert reader.last_id == "12"

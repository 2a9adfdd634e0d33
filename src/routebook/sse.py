"""Server-sent events as bytes. Pure.

id: 7                      the record's number: what a client sends back as Last-Event-ID
data: {"v":1,"ns":…}       the journal's line, as it is

event: missing             what is not a record has a name: missing, reset, dropped, stopping
id: 9                      where a client that comes back goes on; absent if it has nothing to go on from
data: {"first":8,"last":9,"why":…}

: alive                    every few seconds; the id moves on also where a filter lets nothing through
id: 12
"""

from typing import Final

import msgspec

from routebook.journal.record import Record, encode_record

MEDIA_TYPE: Final = "text/event-stream"
_RETRY_MS: Final = 2000


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Records that cannot be shown: not kept any more, lost, or not on disk.

    `certain` is false after a crash: most of these numbers were never handed out.
    """

    first: int
    last: int
    why: str
    certain: bool = True


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """The number that was given to go on from is not one of this NameServer: the stream begins now."""

    last_event_id: int
    last_seq: int
    hint: str = "this NameServer has not handed out that number: it was another's, or its home folder was emptied"


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """The reader was too slow: the stream ends here."""

    resume_after: int
    why: str = "read too slowly"
    hint: str = "connect again with this number as Last-Event-ID; nothing is lost"


class Stopping(msgspec.Struct, frozen=True, kw_only=True):
    """The server stops: the stream ends here."""

    resume_after: int
    why: str = "the server stops"
    hint: str = "connect again with this number as Last-Event-ID; nothing is lost"


def opening() -> bytes:
    """The first bytes, so that a client knows at once that it is connected, and how soon to come back."""
    return b"retry: %d\n: routebook\n\n" % _RETRY_MS


def of_line(seq: int, line: bytes) -> bytes:
    """A journal line without its line feed; one that has no number has no id."""
    return b"id: %d\ndata: %b\n\n" % (seq, line) if seq else b"data: %b\n\n" % line


def of_record(record: Record) -> bytes:
    """A record, encoded as the journal would."""
    return of_line(record.seq, encode_record(record)[:-1])


def of_notice(notice: Missing | Reset | Dropped | Stopping, *, after: int) -> bytes:
    """What is not a record. `after`: the last number that the reader is done with; 0 if there is none."""
    name = type(notice).__name__.lower().encode()
    number = b"id: %d\n" % after if after else b""
    return b"event: %b\n%bdata: %b\n\n" % (name, number, msgspec.json.encode(notice))


def alive(*, after: int) -> bytes:
    """Nothing happened; the connection is still there."""
    return b": alive\nid: %d\n\n" % after if after else b": alive\n\n"

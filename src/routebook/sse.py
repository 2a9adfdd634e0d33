"""Server-sent events: encoder for the server and reader for clients. Pure.

id: 7                      the record's sequence number, which a client sends back as Last-Event-ID
data: {"v":1,"ns":…}       the journal line

event: missing             a notice instead of a record: missing, reset, dropped, stopping
id: 9                      where a reconnecting client resumes; absent if there is no such position
data: {"first":8,"last":9,"why":…}

: alive                    keep-alive every few seconds; also advances the id past records that a filter removed
id: 12
"""

from typing import Final, NamedTuple

import msgspec

from routebook.journal.record import Record, encode_record

MEDIA_TYPE: Final = "text/event-stream"
_RETRY_MS: Final = 2000


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Records that cannot be sent: deleted by retention, lost, or not on disk.

    `certain` is false after a crash: most of these sequence numbers were never used.
    """

    first: int
    last: int
    why: str
    certain: bool = True


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """The requested position does not exist on this NameServer: the stream starts with new records."""

    last_event_id: int
    last_seq: int
    hint: str = "this NameServer never used that number: it is another NameServer's, or the home folder was emptied"


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """The client read too slowly: the stream ends here."""

    resume_after: int
    why: str = "read too slowly"
    hint: str = "reconnect with this number as Last-Event-ID; no record is lost"


class Stopping(msgspec.Struct, frozen=True, kw_only=True):
    """The server is shutting down: the stream ends here."""

    resume_after: int
    why: str = "the server is stopping"
    hint: str = "reconnect with this number as Last-Event-ID; no record is lost"


def opening() -> bytes:
    """The first bytes of a stream: the reconnect delay, and a comment that shows the connection works."""
    return b"retry: %d\n: routebook\n\n" % _RETRY_MS


def of_line(seq: int, line: bytes) -> bytes:
    """Encode a journal line without its line feed; a record without a number (0) has no id."""
    return b"id: %d\ndata: %b\n\n" % (seq, line) if seq else b"data: %b\n\n" % line


def of_record(record: Record) -> bytes:
    """Encode a record as its journal line."""
    return of_line(record.seq, encode_record(record)[:-1])


def of_notice(notice: Missing | Reset | Dropped | Stopping, *, after: int) -> bytes:
    """Encode a notice. `after` is the last number that the client has processed; 0 if there is none."""
    name = type(notice).__name__.lower().encode()
    number = b"id: %d\n" % after if after else b""
    return b"event: %b\n%bdata: %b\n\n" % (name, number, msgspec.json.encode(notice))


def alive(*, after: int) -> bytes:
    """Encode a keep-alive comment."""
    return b": alive\nid: %d\n\n" % after if after else b": alive\n\n"


class ServerSentEvent(NamedTuple):
    """One event; `id` is the last id of the stream so far, "" if there was none."""

    id: str
    name: str
    data: bytes


class SseReader:
    """Assembles events from lines, as the HTML standard specifies; `last_id` also advances without an event."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._name = ""
        self._data: list[bytes] = []

    def feed_line(self, line: bytes) -> ServerSentEvent | None:
        """Return an event if this line completes one."""
        line = line.rstrip(b"\r\n")
        if not line:
            name, data = self._name or "message", self._data
            self._name, self._data = "", []
            return ServerSentEvent(self.last_id, name, b"\n".join(data)) if data else None
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self._data.append(value)
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self.last_id = value.decode("utf-8", "replace")
        return None

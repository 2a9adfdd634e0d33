"""Encodes and decodes one line of the journal: a JSON object with `v ns boot seq at kind` and the kind's fields. Pure.

    {"v":1,"ns":"n1","boot":"b1","seq":7,"at":1731700000000,"kind":"server_stopped","reason":"SIGTERM"}\\n

docs/journal.md states what may change under the same `v`. A reader ignores unknown fields, keeps unknown kinds as they
are, and rejects another `v`.
"""

import json
from typing import Annotated, Any, Final, get_args

import msgspec

from routebook.errors import JournalError, JournalVersion
from routebook.events import Event, JournalHole
from routebook.lenient_json import encode_json

FORMAT_VERSION: Final = 1
ENVELOPE_FIELDS: Final = ("v", "ns", "boot", "seq", "at", "kind")
_CHAIN_FIELD: Final = "chain"  # chain.py; the last field of some lines


KINDS: Final[dict[str, type[Event]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Event)}
HOLE_KIND: Final = str(JournalHole.__struct_config__.tag)


class UnknownEvent(msgspec.Struct, frozen=True):
    """An event of a kind that only newer releases define."""

    kind: str
    fields: dict[str, Any]


class Envelope(msgspec.Struct, frozen=True):
    """The fields that every line has."""

    v: int
    ns: str
    boot: str
    seq: Annotated[int, msgspec.Meta(ge=1)]
    at: int
    kind: str


class Record(msgspec.Struct, frozen=True):
    """One event with its envelope; `at` is ms since the epoch."""

    v: int
    ns: str
    boot: str
    seq: int
    at: int
    event: Event | UnknownEvent

    @property
    def kind(self) -> str:
        return self.event.kind if isinstance(self.event, UnknownEvent) else kind_of(self.event)


class _Version(msgspec.Struct, frozen=True):
    v: int


_envelope: Final = msgspec.json.Decoder(Envelope)
_version: Final = msgspec.json.Decoder(_Version)
_events: Final = {kind: msgspec.json.Decoder(struct) for kind, struct in KINDS.items()}
_anything: Final = msgspec.json.Decoder(dict[str, Any])
# Everything a decoder raises: damaged data may be invalid UTF-8 or nest too deeply.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def kind_of(event: Event) -> str:
    """Return the name of an event's kind."""
    return str(event.__struct_config__.tag)


class RecordEncoder:
    """Encodes the records of one process start (`boot`) of one NameServer (`ns`)."""

    __slots__ = ("_prefix",)

    def __init__(self, *, ns: str, boot: str) -> None:
        head = msgspec.json.encode({"v": FORMAT_VERSION, "ns": ns, "boot": boot})
        self._prefix = head[:-1] + b',"seq":'

    def line(self, event: Event | UnknownEvent, *, seq: int, at_ms: int) -> bytes:
        """Return the line with its line feed."""
        body = encode_json({"kind": event.kind, **event.fields} if isinstance(event, UnknownEvent) else event)
        return b'%b%d,"at":%d,%b\n' % (self._prefix, seq, at_ms, body[1:])


def encode_record(record: Record) -> bytes:
    """Encode a record as a line."""
    encoder = RecordEncoder(ns=record.ns, boot=record.boot)
    return encoder.line(record.event, seq=record.seq, at_ms=record.at)


def decode_envelope(line: bytes) -> Envelope:
    """Decode the envelope and check that the whole line is JSON. Raises JournalError."""
    try:
        envelope = _envelope.decode(line)
    except UNREADABLE as problem:
        return _lenient_envelope(line, problem)
    if envelope.v != FORMAT_VERSION:
        raise _other_version(envelope.v)
    return envelope


def decode_record(line: bytes) -> Record:
    """Decode a line. Raises JournalError."""
    return decode_event(line, decode_envelope(line))


def decode_event(line: bytes, envelope: Envelope) -> Record:
    """Decode a line whose envelope is already decoded. Raises JournalError."""
    decoder = _events.get(envelope.kind)
    event: Event | UnknownEvent
    if decoder is None:
        fields = _all_fields(line)
        event = UnknownEvent(
            envelope.kind, {k: v for k, v in fields.items() if k not in (*ENVELOPE_FIELDS, _CHAIN_FIELD)}
        )
    else:
        try:
            event = decoder.decode(line)
        except UNREADABLE as problem:
            event = _lenient_event(line, envelope.kind, problem)
    return Record(envelope.v, envelope.ns, envelope.boot, envelope.seq, envelope.at, event)


# Lines with lone surrogates, which Java allows in names, need the slower standard decoder; see lenient_json.


def _lenient_envelope(line: bytes, problem: Exception) -> Envelope:
    try:
        version = _version.decode(line).v
    except UNREADABLE:
        version = FORMAT_VERSION
    if version != FORMAT_VERSION:
        raise _other_version(version) from None
    if not _has_surrogate(line):
        raise JournalError(f"not a journal line: {problem}") from None
    try:
        envelope = msgspec.convert(json.loads(line), Envelope)
        (envelope.ns + envelope.boot).encode()  # written by the NameServer itself, so a surrogate is damage
    except (ValueError, RecursionError):
        raise JournalError(f"not a journal line: {problem}") from None
    return envelope


def _lenient_event(line: bytes, kind: str, problem: Exception) -> Event:
    wrong = JournalError(f"not a {kind} event: {problem}")
    if not _has_surrogate(line):
        raise wrong from None
    try:
        event: Event = msgspec.convert(json.loads(line), KINDS[kind], str_keys=True)
    except (ValueError, RecursionError):
        raise wrong from None
    return event


def _all_fields(line: bytes) -> dict[str, Any]:
    try:
        return _anything.decode(line)
    except UNREADABLE as problem:
        try:
            fields: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            raise JournalError(f"not a journal line: {problem}") from None
        return fields


def _has_surrogate(line: bytes) -> bool:
    return b"\\ud" in line or b"\\uD" in line


def _other_version(version: int) -> JournalVersion:
    return JournalVersion(
        f"journal format version {version} is not supported; this release reads version {FORMAT_VERSION}. "
        "Use the release that wrote the journal, or a newer one"
    )

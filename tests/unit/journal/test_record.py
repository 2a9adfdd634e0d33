"""The line format, and how unknown kinds, unknown fields and invalid lines are handled."""

from pathlib import Path

import msgspec
import pytest

from routebook.errors import JournalError, JournalVersion
from routebook.events import Event, KvChanged, ServerStopped
from routebook.journal.record import (
    ENVELOPE_FIELDS,
    KINDS,
    Record,
    RecordEncoder,
    UnknownEvent,
    decode_envelope,
    decode_record,
    encode_record,
    kind_of,
)
from tests.support.journal_events import EVERY_KIND

LINE = b'{"v":1,"ns":"n","boot":"b","seq":7,"at":1731700000000,"kind":"server_stopped","reason":"SIGTERM"}\n'
FORMAT_1 = Path(__file__).parent / "format_1.jsonl"


def test_a_line_matches_the_documentation() -> None:
    line = RecordEncoder(ns="n", boot="b").line(ServerStopped(reason="SIGTERM"), seq=7, at_ms=1_731_700_000_000)
    assert line == LINE
    assert decode_record(line) == Record(1, "n", "b", 7, 1_731_700_000_000, ServerStopped(reason="SIGTERM"))


@pytest.mark.parametrize("event", EVERY_KIND, ids=kind_of)
def test_every_kind_survives_a_round_trip(event: Event) -> None:
    record = Record(1, "n", "b", 1, 2, event)
    assert decode_record(encode_record(record)) == record
    assert record.kind == msgspec.json.decode(encode_record(record))["kind"]


def test_the_samples_cover_every_kind() -> None:
    assert {kind_of(event) for event in EVERY_KIND} == set(KINDS)


def test_lines_of_format_1_stay_readable() -> None:
    """Lines are only added to the file, never edited: a change that breaks it needs a new format version."""
    records = [decode_record(line) for line in FORMAT_1.read_bytes().splitlines()]
    assert [record.event for record in records] == list(EVERY_KIND)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_no_kind_has_a_field_of_the_envelope(kind: type[Event]) -> None:
    assert not {field.encode_name for field in msgspec.structs.fields(kind)} & set(ENVELOPE_FIELDS)


def test_names_may_hold_any_character() -> None:
    record = Record(1, 'n"\\\n', "b\x00", 1, 2, ServerStopped(reason="\u2028 \x7f 😀"))
    assert decode_record(encode_record(record)) == record


def test_a_lone_surrogate_survives_a_round_trip() -> None:
    """Java allows it in a KV value, although it is invalid UTF-8."""
    record = Record(1, "n", "b", 1, 2, KvChanged(namespace="N", key="k\ud800", after="é \udfff 😀"))
    assert decode_record(encode_record(record)) == record
    unknown = Record(1, "n", "b", 1, 2, UnknownEvent("new", {"text": "\ud800"}))
    assert decode_record(encode_record(unknown)) == unknown


def test_an_unknown_kind_is_kept_unchanged() -> None:
    line = LINE.replace(b"server_stopped", b"moon_phase")
    record = decode_record(line)
    assert record.event == UnknownEvent("moon_phase", {"reason": "SIGTERM"})
    assert record.kind == "moon_phase"
    assert encode_record(record) == line


def test_an_unknown_field_is_ignored() -> None:
    line = LINE.replace(b'"reason"', b'"mood":{"deep":[1]},"reason"')
    assert decode_record(line).event == ServerStopped(reason="SIGTERM")


@pytest.mark.parametrize("line", [LINE.replace(b'"v":1', b'"v":2'), b'{"v":2,"everything":"else"}'])
def test_another_format_version_is_rejected(line: bytes) -> None:
    with pytest.raises(JournalVersion, match=r"format version 2 is not supported; this release reads version 1"):
        decode_record(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\x00\x00\x00",
        b"null",
        LINE[:-10],
        LINE[:40] + b"\xff" + LINE[41:],
        LINE.replace(b'"seq":7', b'"seq":0'),
        LINE.replace(b'"seq":7', b'"seq":"7"'),
        LINE.replace(b'"ns":"n",', b""),
        LINE.replace(b"SIGTERM", b"\\ud800").replace(b'"seq":7', b'"seq":0'),
        LINE.replace(b'"n"', b'"\\ud800"'),
        LINE.replace(b'"b"', b'"\\ud800"'),
        LINE.replace(b"SIGTERM", b"\\ud8"),
    ],
)
def test_an_invalid_line_is_rejected(line: bytes) -> None:
    with pytest.raises(JournalError, match="not a journal line"):
        decode_envelope(line)


@pytest.mark.parametrize("reason", [b'"reason":1', b'"other":"x"', b'"reason":1,"x":"\\ud800"'])
def test_an_event_without_a_required_field_is_rejected(reason: bytes) -> None:
    with pytest.raises(JournalError, match="not a server_stopped event"):
        decode_record(LINE.replace(b'"reason":"SIGTERM"', reason))

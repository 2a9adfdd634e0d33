"""Compares the journals of a simulation with its ground truth: each expected event occurs once, and no others."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from routebook.controller_events import ElectionEvent, NoMasterElected
from routebook.events import BrokerDown, BrokerUp, Event, TopicDeleted, TopicsChanged
from routebook.fleet.virtual.simulation import TRUTH_FILE
from routebook.fleet.virtual.truth import Expected, Truth
from routebook.journal.files import FolderFiles
from routebook.journal.read.reader import Line, read
from routebook.journal.record import Record, kind_of


def read_truth(out: Path) -> list[Truth]:
    return [msgspec.json.decode(line, type=Truth) for line in (out / TRUTH_FILE).read_bytes().splitlines()]


def read_journal(folder: Path, *, minutes: bool = True) -> list[Record]:
    """All records, or all except the minute rollups; fails if one cannot be read."""
    found = []
    for item in read(FolderFiles(folder)):
        assert isinstance(item, Line), item
        if minutes or not item.record.kind.endswith("_minute"):
            found.append(item.record)
    return found


def disagreements(out: Path, *, start_ms: int) -> list[str]:
    """Events that the journals lack, and events beyond the ground truth; empty if they agree."""
    wrong: list[str] = []
    truths = read_truth(out)
    for folder in sorted(path for path in out.iterdir() if path.is_dir()):
        expected = [one for truth in truths for one in truth.expect if one.ns == folder.name]
        wrong += _compare(read_journal(folder, minutes=False), expected, folder.name, start_ms)
    return wrong


def _compare(records: list[Record], expected: list[Expected], ns: str, start_ms: int) -> Iterable[str]:
    used: set[int] = set()
    by_key: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        for key in _keys(record):
            by_key.setdefault(key, []).append(record)
    for one in expected:
        candidates = by_key.get((one.kind, one.addr or one.broker, one.topic), [])
        fits = [
            r for r in candidates if one.from_ms <= r.at <= one.to_ms and r.seq not in used and _reason_fits(r, one)
        ]
        if fits:
            used.add(fits[0].seq)
        elif one.certain:
            yield f"{ns}: not there: {one}; of its kind: {[(r.at, r.event) for r in candidates][:5]}"
    for record in records:
        event: Any = record.event
        if record.seq in used or not isinstance(event, BrokerDown | BrokerUp | ElectionEvent):
            continue
        if isinstance(event, BrokerUp | ElectionEvent) and record.at < start_ms + 60_000:
            continue  # the fleet starts
        yield f"{ns}: no fault explains this: {record}"


def _keys(record: Record) -> Iterable[tuple[str, str, str]]:
    event: Any = record.event
    match event:
        case TopicsChanged():
            for topic in (*event.added, *event.changed, *event.removed):
                yield kind_of(event), event.broker, topic
        case TopicDeleted():
            yield kind_of(event), "", event.topic
        case NoMasterElected():
            yield kind_of(event), event.broker, ""
        case _:
            yield record.kind, getattr(event, "addr", ""), ""


def _reason_fits(record: Record, one: Expected) -> bool:
    event: Event | Any = record.event
    reason = getattr(event, "cause", None) if isinstance(event, ElectionEvent) else getattr(event, "reason", None)
    return not one.reasons or str(reason) in one.reasons

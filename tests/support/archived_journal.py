"""A small journal with rolled segments, for tests of the archive."""

from pathlib import Path

import zstandard

from routebook.events import ServerStarted
from routebook.journal.record import RecordEncoder
from routebook.journal.segments import Span, rolled_name


def write_segments(folder: Path, count: int, *, first: int = 1, ns: str = "ns-a") -> list[str]:
    """Write rolled segments with one record each; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    line = RecordEncoder(ns=ns, boot="b").line
    names = []
    for seq in range(first, first + count):
        at_ms = 1_700_000_000_000 + seq
        name = rolled_name(Span(first=seq, last=seq, earliest_ms=at_ms, latest_ms=at_ms))
        text = line(ServerStarted(version="1", listen="x"), seq=seq, at_ms=at_ms)
        (folder / name).write_bytes(zstandard.ZstdCompressor().compress(text))
        names.append(name)
    return names

"""The raw lines of rolled journal segments."""

import io
from collections.abc import Iterator
from pathlib import Path

import zstandard


def journal_lines(folder: Path, *, minutes: bool = False) -> list[str]:
    """All lines, in order; without `minutes`, all except the rollups, which are the majority."""
    return [line for line in _lines(folder) if minutes or '_minute"' not in line[:160]]


def _lines(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.jsonl.zst")):
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as segment:
            yield from (line.rstrip("\n") for line in io.TextIOWrapper(segment, encoding="utf-8"))

"""Journals to measure the lake by: a simulated fleet's, cut into a history and the hours that follow; kept, once made.

A large history is ten days, a small one is one day of a fleet of the same size, so that an hour brings both as much.
"""

import json
import shutil
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from benchmarks.suite.native import CACHE
from routebook.fleet.scenario import load_scenario
from routebook.fleet.virtual.simulation import Simulation
from routebook.journal.segments import Span, rolled_name

LARGE_DAYS: Final = 10
SMALL_DAYS: Final = 1
HOURS: Final = 4
NAMESERVERS: Final = 3
_VERSION: Final = 1  # of what is kept: another one is made anew
_NOON_MS: Final = 1_767_225_600_000 + 12 * 3_600_000  # 2026-01-01T12:00Z: an hour's day is half over
_HOUR_MS: Final = 3_600_000
_EVENTS_OF_BROKER: Final = 4_320  # heartbeat minutes at three NameServers in a day
_EVENTS_OF_CLIENT: Final = 6_900


class _Line(msgspec.Struct):
    seq: int
    at: int


class Journals(msgspec.Struct, frozen=True):
    """The parts of one history: `history` and `hour-1` to `hour-4`, in each a folder for each NameServer."""

    folder: Path
    brokers: int
    events: int  # of the history
    text_bytes: int

    def part(self, hour: int) -> Path:
        return self.folder / (f"hour-{hour}" if hour else "history")


def make(events: int, *, days: int) -> Journals:
    """About so many events of ten days, or a tenth of them: from the cache, or made now."""
    brokers = max(4, round(events / LARGE_DAYS * 0.86 / _EVENTS_OF_BROKER))
    clients = max(1, round(events / LARGE_DAYS * 0.14 / _EVENTS_OF_CLIENT))
    folder = CACHE / f"lake-v{_VERSION}-{brokers}x{clients}-{days}d"
    done = folder / "done.json"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"making journals of {days} days and {brokers} brokers in {folder}", flush=True)
        sizes = _make(folder, days=days, brokers=brokers, clients=clients)
        done.write_text(json.dumps(sizes))
    sizes = json.loads(done.read_text())
    return Journals(folder, brokers, sizes["events"], sizes["text_bytes"])


def _make(folder: Path, *, days: int, brokers: int, clients: int) -> dict[str, int]:
    whole = folder / "whole"
    scenario = load_scenario("eventful-days").sized(brokers=brokers, topics=10 * brokers, clients=clients)
    lasts = days + HOURS / 24 + 1 / 96  # a quarter of an hour more: its stop is in none of the parts
    Simulation(scenario, days=lasts, seed=11, nameservers=NAMESERVERS, start_ms=_NOON_MS, out=whole).run()
    end_ms = _NOON_MS + days * 24 * _HOUR_MS
    sizes = {"events": 0, "text_bytes": 0}
    for number in range(1, NAMESERVERS + 1):
        for path in sorted((whole / f"ns-{number}").glob("*.jsonl.zst")):
            text = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
            for hour, lines in _cut(text, end_ms).items():
                into = folder / (f"hour-{hour}" if hour else "history") / f"ns-{number}"
                if hour <= HOURS:
                    _write(into, lines)
                if not hour:
                    sizes["events"] += len(lines)
                    sizes["text_bytes"] += sum(map(len, lines))
    shutil.rmtree(whole)
    return sizes


def _cut(text: bytes, end_ms: int) -> dict[int, list[bytes]]:
    """Lines by the hour after the history that they are of, 0: of it."""
    read = msgspec.json.Decoder(_Line).decode
    lines = text.splitlines(keepends=True)
    if read(lines[-1]).at < end_ms:
        return {0: lines}
    parts: dict[int, list[bytes]] = {}
    for line in lines:
        parts.setdefault(max(0, (read(line).at - end_ms) // _HOUR_MS + 1), []).append(line)
    return parts


def _write(folder: Path, lines: list[bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    first, last = (msgspec.json.decode(line, type=_Line) for line in (lines[0], lines[-1]))
    span = Span(first=first.seq, last=last.seq, earliest_ms=first.at, latest_ms=last.at)
    compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)
    (folder / rolled_name(span)).write_bytes(compressor.compress(b"".join(lines)))

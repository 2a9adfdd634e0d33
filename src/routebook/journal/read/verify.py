"""Verifies a whole journal: counts its records and reports damage and missing numbers."""

import msgspec

from routebook.events import JournalHole
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole, Line, read
from routebook.journal.segments import list_segments


class KindCount(msgspec.Struct, kw_only=True):
    """Records of one kind, and the bytes of their lines."""

    records: int = 0
    bytes: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result. Times are ms since the epoch; None if the journal is empty."""

    nameservers: tuple[str, ...]
    boots: int
    segments: int
    rolled: int
    disk_bytes: int
    records: int
    text_bytes: int
    first_seq: int | None
    last_seq: int | None
    earliest_ms: int | None
    latest_ms: int | None
    kinds: dict[str, KindCount]
    damage: tuple[Damage, ...]
    holes: tuple[Hole, ...]  # lost records
    skipped: tuple[Hole, ...]  # numbers skipped after a crash; most were never assigned
    unnumbered: int  # events dropped without a number, in very long outages
    unfinished: Damage | None

    @property
    def whole(self) -> bool:
        return not self.damage and not self.holes and not self.unnumbered


def verify(files: Files) -> Report:
    """Read the whole journal."""
    listing = list_segments(files.names())
    disk_bytes = sum(files.size(segment.name) for segment in listing.segments)
    tally = _Tally()
    for item in read(files):
        tally.add(item)
    return tally.report(
        segments=len(listing.segments),
        rolled=sum(segment.rolled for segment in listing.segments),
        disk_bytes=disk_bytes,
    )


class _Tally:
    def __init__(self) -> None:
        self.nameservers: dict[str, None] = {}
        self.boots: set[str] = set()
        self.kinds: dict[str, KindCount] = {}
        self.damage: list[Damage] = []
        self.holes: list[Hole] = []
        self.recorded_holes: list[JournalHole] = []
        self.unfinished: Damage | None = None
        self.seqs: tuple[int, int] | None = None
        self.times: tuple[int, int] | None = None

    def add(self, item: Line | Damage | Hole) -> None:
        match item:
            case Line():
                self._line(item)
            case Hole():
                self.holes.append(item)
            case Damage(unfinished=True):
                self.unfinished = item
            case Damage():
                self.damage.append(item)

    def _line(self, line: Line) -> None:
        record = line.record
        self.nameservers[record.ns] = None
        self.boots.add(record.boot)
        kind = self.kinds.setdefault(record.kind, KindCount())
        kind.records += 1
        kind.bytes += len(line.raw) + 1
        if isinstance(record.event, JournalHole):
            self.recorded_holes.append(record.event)
        self.seqs = (self.seqs[0] if self.seqs else record.seq, record.seq)
        earliest, latest = self.times or (record.at, record.at)
        self.times = (min(earliest, record.at), max(latest, record.at))

    def report(self, *, segments: int, rolled: int, disk_bytes: int) -> Report:
        explained = [self._explained(hole) for hole in self.holes]
        return Report(
            nameservers=tuple(self.nameservers),
            boots=len(self.boots),
            segments=segments,
            rolled=rolled,
            disk_bytes=disk_bytes,
            records=sum(kind.records for kind in self.kinds.values()),
            text_bytes=sum(kind.bytes for kind in self.kinds.values()),
            first_seq=self.seqs[0] if self.seqs else None,
            last_seq=self.seqs[1] if self.seqs else None,
            earliest_ms=self.times[0] if self.times else None,
            latest_ms=self.times[1] if self.times else None,
            kinds=dict(sorted(self.kinds.items())),
            damage=tuple(self.damage),
            holes=tuple(hole for hole in explained if hole.certain),
            skipped=tuple(hole for hole in explained if not hole.certain),
            unnumbered=sum(
                event.count - (event.last_missing - event.first_missing + 1) for event in self.recorded_holes
            ),
            unfinished=self.unfinished,
        )

    def _explained(self, hole: Hole) -> Hole:
        """Add the reason, if a later record states it."""
        if hole.why is None:
            for event in self.recorded_holes:
                if event.first_missing <= hole.first and hole.last <= event.last_missing:
                    return msgspec.structs.replace(hole, why=event.why, certain=event.certain)
        return hole

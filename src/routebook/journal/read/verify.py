"""Verifies a whole journal: counts its records, reports damage and missing numbers, and checks the hash chain."""

from collections.abc import Iterable

import msgspec

from routebook.events import JournalHole
from routebook.journal.chain import ChainHead
from routebook.journal.expired import read_expired
from routebook.journal.files import Files
from routebook.journal.read.chain_check import Break, ChainCheck
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
    chained_since: int | None  # the first record that the hash chain protects
    heads_compared: int  # heads of this journal that other NameServers have seen
    breaks: tuple[Break, ...]

    @property
    def whole(self) -> bool:
        return not self.damage and not self.holes and not self.unnumbered and not self.breaks


def verify(files: Files, *, witnesses: Iterable[ChainHead] = (), is_audit: bool = False) -> Report:
    """Read the whole journal. `witnesses` are its heads as other NameServers have seen them.

    The audit stream has some of the numbers only, and no record of those that its retention removed.
    """
    listing = list_segments(files.names())
    disk_bytes = sum(files.size(segment.name) for segment in listing.segments)
    tally = _Tally(ChainCheck(witnesses))
    expired = None if is_audit else read_expired(files)
    for item in read(files):
        if not (is_audit and isinstance(item, Hole)):
            tally.add(item)
    tally.chain.finish()
    if expired is not None:
        tally.check_start(expired)
    return tally.report(
        segments=len(listing.segments),
        rolled=sum(segment.rolled for segment in listing.segments),
        disk_bytes=disk_bytes,
    )


class _Tally:
    def __init__(self, chain: ChainCheck) -> None:
        self.chain = chain
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
        self.chain.add(record.seq, line.raw)
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

    def check_start(self, expired: int) -> None:
        """Report a missing beginning, unless retention removed it or it is from before the hash chain."""
        first = None if self.seqs is None else self.seqs[0]
        if first is None or first <= expired + 1 or self.chain.begins or self.chain.since != first:
            return
        reason = "the beginning is missing, and retention did not remove it"
        self.chain.breaks.insert(0, Break(first=expired + 1, last=first - 1, reason=reason))

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
            chained_since=self.chain.since,
            heads_compared=self.chain.seen,
            breaks=tuple(self.chain.breaks),
        )

    def _explained(self, hole: Hole) -> Hole:
        """Add the reason, if a later record states it."""
        if hole.why is None:
            for event in self.recorded_holes:
                if event.first_missing <= hole.first and hole.last <= event.last_missing:
                    return msgspec.structs.replace(hole, why=event.why, certain=event.certain)
        return hole

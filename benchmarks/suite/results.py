"""Results of a run: figures per row, peer and round."""

import statistics
from pathlib import Path
from typing import Final, Literal

import msgspec

PEERS: Final = ("routebook", "java", "rust", "limit")


class Goal(msgspec.Struct, frozen=True):
    """The goal for the ratio of Routebook's figure to a peer's: a minimum or a maximum."""

    peer: str
    kind: Literal[">=", "<="]
    ratio: float

    def met(self, ratio: float) -> bool:
        return ratio >= self.ratio if self.kind == ">=" else ratio <= self.ratio


class Row(msgspec.Struct, frozen=True):
    """One figure: values by peer, one per round; the peers take turns."""

    key: str
    title: str
    unit: str
    values: dict[str, list[float]]
    goals: tuple[Goal, ...] = ()
    failures: dict[str, str] = {}  # peers that failed, with the reason

    def median(self, peer: str) -> float | None:
        found = self.values.get(peer)
        return statistics.median(found) if found else None

    def spread(self, peer: str) -> float:
        """Half of the interquartile range, as a share of the median."""
        found = self.values.get(peer) or [0.0]
        middle = statistics.median(found)
        if len(found) < 2 or not middle:
            return 0.0
        low, _, high = statistics.quantiles(found, n=4, method="inclusive")
        return (high - low) / 2 / middle

    def ratio(self, peer: str) -> float | None:
        """Routebook divided by the peer: the median over the rounds."""
        pairs = list(zip(self.values.get("routebook", ()), self.values.get(peer, ()), strict=False))
        ratios = [ours / theirs for ours, theirs in pairs if theirs]
        return statistics.median(ratios) if ratios else None


class Point(msgspec.Struct, frozen=True):
    """One point of a growth curve, or one row of the capacity page."""

    brokers: int
    topics: int
    connections: int
    figures: dict[str, float]


class Results(msgspec.Struct):
    """One run."""

    date: str
    quick: bool
    machine: dict[str, str]
    versions: dict[str, str]
    skipped: dict[str, str] = {}
    rows: list[Row] = []
    growth: list[Point] = []

    def put(self, rows: list[Row]) -> None:
        """Replace rows with the same keys, and add the others."""
        fresh = {row.key: row for row in rows}
        self.rows = [fresh.pop(row.key, row) for row in self.rows] + list(fresh.values())


def load(path: Path) -> Results | None:
    return msgspec.json.decode(path.read_bytes(), type=Results) if path.exists() else None


def save(results: Results, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")

"""Progress and result of a pass over a lake."""

import msgspec

from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.quarantine import Quarantined


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a pass."""

    name: str  # "reading", "gold.broker_sessions", "publishing"
    done: int = 0
    total: int = 0
    unit: str = "tables"  # that `done` and `total` count: "segments" or "tables"
    rows: int = 0
    bytes: int = 0  # of the segments that were read


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a pass. `build_id` is None if nothing was new."""

    build_id: str | None
    counts: Counts
    quarantine: Quarantined  # all that the lake has, of this and earlier builds
    new_in_quarantine: Quarantined  # since the last published build
    holes: int
    missing: int  # numbers that are certainly lost
    tables: int
    seconds: float

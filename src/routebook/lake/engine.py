"""Runs the steps over Iceberg tables: each sees its windows, and only the partitions that it touches are written."""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from routebook.lake.bronze import EVENTS
from routebook.lake.kinds import KINDS
from routebook.lake.refresh import FrameInputs, Made, conform, events_seen, find_corrections, replaced
from routebook.lake.silver.timing import ROLLUPS
from routebook.lake.step import Step
from routebook.lake.store import Store
from routebook.lake.table import Grows
from routebook.lake.window import Window

_FEW_KINDS = tuple(kind for kind in KINDS if kind not in ROLLUPS)
_SEEN_IN_PART = (Grows.BY_SEQ, Grows.BY_TIME, Grows.BY_DAY, Grows.ALL_BY_DAY)


class _KeptInputs(FrameInputs):
    """Reads events that are no rollups from memory: they are few, and nearly every step asks for some."""

    def __init__(self, step: Step, *, few: DataFrame, **others: object) -> None:
        super().__init__(step, **others)  # type: ignore[arg-type]  # checked where it is made
        self._all = self._events
        self._few = few

    def events(self, *kinds: str) -> DataFrame:
        in_part = self._step.table.grows in _SEEN_IN_PART
        self._events = self._few if in_part and kinds and not set(kinds) & set(ROLLUPS) else self._all
        return super().events(*kinds)


def refresh(
    store: Store,
    steps: Sequence[Step],
    *,
    bronze_snapshot: int,
    windows: Sequence[Window],
    full: bool,
    tell: Callable[[str, int], None],
) -> dict[str, int]:
    """Make all tables anew as far as the windows reach; the snapshots that they are at then."""
    events = store.at(EVENTS, bronze_snapshot)
    seen = F.lit(False)
    for grows in _SEEN_IN_PART:
        seen = seen | events_seen(grows, windows)
    some = events.where(F.col("kind").isin(*_FEW_KINDS))  # said so that Iceberg opens no file of rollups
    few = (some if full else some.where(seen)).persist()
    corrected = find_corrections(few, windows).persist()
    made: dict[str, Made] = {}
    snapshots: dict[str, int] = {}
    try:
        for number, step in enumerate(steps):
            table = step.table
            tell(table.path, number)
            before = store.current(table)
            inputs = _KeptInputs(
                step,
                few=few,
                events=events,
                corrected=corrected,
                old=store.at(table, before),
                made=made,
                windows=windows,
            )
            rows = conform(step.build(inputs), table)
            stale = None if full or table.grows is Grows.WHOLE else replaced(table, windows)
            store.replace(table, rows, stale=stale, seen=before)
            snapshots[table.path] = store.current(table)
            made[table.name] = Made(table, store.at(table, snapshots[table.path]))
    finally:
        corrected.unpersist()
        few.unpersist()
    return snapshots

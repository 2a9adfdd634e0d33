"""Runs the steps over Iceberg tables: each sees its windows, and only the partitions that it touches are written."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from routebook.lake.build.refresh import FrameInputs, Made, conform, events_seen, nothing, replaced, timed
from routebook.lake.build.silver.timing import ROLLUPS, is_rollup
from routebook.lake.build.step import Step
from routebook.lake.build.store import Store
from routebook.lake.build.window import Window, any_of
from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.kinds import KINDS
from routebook.lake.tables.table import RefreshMode

_SEEN_IN_PART = (RefreshMode.BY_SEQ, RefreshMode.BY_TIME, RefreshMode.BY_DAY, RefreshMode.ALL_BY_DAY)


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
    some = events.where(_is_state())
    if not full:
        some = some.where(any_of([events_seen(grows, windows) for grows in _SEEN_IN_PART]))
    few = some.persist()  # nearly every step asks for some of them
    made: dict[str, Made] = {}
    snapshots: dict[str, int] = {}
    try:
        with timed(few, events.where(is_rollup()), windows) as told:
            for number, step in enumerate(steps):
                table = step.table
                tell(table.path, number)
                before = store.current(table)
                old = nothing(store.spark, table) if full else store.at(table, before)
                inputs = FrameInputs(step, events=told, old=old, made=made, windows=windows)
                rows = conform(step.build(inputs), table)
                stale = None if full or table.refresh is RefreshMode.WHOLE else replaced(table, windows)
                store.replace(table, rows, stale=stale, seen=before)
                inputs.let_go()
                snapshots[table.path] = store.current(table)
                made[table.name] = Made(table, store.at(table, snapshots[table.path]))
    finally:
        few.unpersist()
    return snapshots


def _is_state() -> Column:
    """Whether an event is no rollup; said so that Iceberg opens no file of rollups. `raw` is of kinds not known."""
    return F.col("kind").isin(*(kind for kind in KINDS if kind not in ROLLUPS)) | F.col("raw").isNotNull()

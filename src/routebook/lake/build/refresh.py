"""Runs the build steps over Iceberg tables; each reads its windows and rewrites only the partitions that it touches."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as fn

from routebook.lake.build.affected import Affected
from routebook.lake.build.event_time import ROLLUPS, is_rollup
from routebook.lake.build.incremental import Days, events_read, in_backfill, replaced
from routebook.lake.build.schema import conform, empty_frame
from routebook.lake.build.step import Inputs, Step, with_event_time
from routebook.lake.build.store import Store
from routebook.lake.build.window import Window, any_of
from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.kinds import KINDS
from routebook.lake.tables.meta import RETIRED
from routebook.lake.tables.table import RefreshMode

_WINDOWED = (RefreshMode.BY_SEQ, RefreshMode.BY_TIME, RefreshMode.BY_DAY, RefreshMode.ALL_BY_DAY)


def refresh(
    store: Store,
    steps: Sequence[Step],
    *,
    bronze_snapshot: int,
    windows: Sequence[Window],
    full: bool,
    days: Days | None = None,
    on_progress: Callable[[str, int], None],
) -> None:
    """Recompute all affected tables from the begin of the windows; with `days`, only the rows of a backfill."""
    affected = Affected(windows, all_steps=days is not None)
    events = store.at(EVENTS, bronze_snapshot)
    states = events.where(_is_state())
    if not full:
        states = states.where(any_of([events_read(mode, windows) for mode in _WINDOWED]))
    states = states.persist()  # nearly every step reads some of them
    upstream = {RETIRED.name: (RETIRED, store.at(RETIRED, store.current(RETIRED)))}
    try:
        with with_event_time(states, events.where(is_rollup()), windows) as timed:
            for number, step in enumerate(steps):
                table = step.table
                on_progress(table.path, number)
                before = store.current(table)
                old = empty_frame(store.spark, table) if full else store.at(table, before)
                inputs = Inputs(step, events=timed, old=old, upstream=upstream, windows=windows)
                if not affected.includes(step, inputs):
                    upstream[table.name] = table, old
                    continue
                rows = conform(step.build(inputs), table)
                stale = None if full or table.refresh is RefreshMode.WHOLE else replaced(table, windows)
                if stale is not None and days is not None:
                    stale, rows = stale & in_backfill(table, days), rows.where(in_backfill(table, days))
                store.replace(table, rows, stale=stale, seen=before)
                inputs.release()
                upstream[table.name] = table, store.at(table, store.current(table))
    finally:
        states.unpersist()


def _is_state() -> Column:
    """Events that are not rollups, as a predicate by which Iceberg skips rollup files. Unknown kinds have `raw`."""
    return fn.col("kind").isin(*(kind for kind in KINDS if kind not in ROLLUPS)) | fn.col("raw").isNotNull()

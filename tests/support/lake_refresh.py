"""Refreshes lake tables in memory, step by step, as `routebook.lake.build.refresh` does with Iceberg tables."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from routebook.lake.build.affected import Affected
from routebook.lake.build.event_time import is_rollup
from routebook.lake.build.incremental import replaced
from routebook.lake.build.schema import conform, empty_frame
from routebook.lake.build.step import Inputs, Step, with_event_time
from routebook.lake.build.window import Window, find_windows
from routebook.lake.tables.meta import RETIRED
from routebook.lake.tables.silver import BROKER_SPANS, OBSERVED
from routebook.lake.tables.table import Table


def needed(steps: Sequence[Step], *names: str) -> list[Step]:
    """The steps that build these tables, and the steps that those read."""
    wanted = set(names)
    for step in reversed(steps):
        if step.table.name in wanted:
            wanted.update(step.reads)
    wanted |= {OBSERVED.name, BROKER_SPANS.name}  # the windows depend on them
    unknown = set(names) - {step.table.name for step in steps}
    if unknown:
        raise LookupError(f"no step builds {', '.join(sorted(unknown))}")
    return [step for step in steps if step.table.name in wanted]


def refreshed(
    steps: Sequence[Step], parts: Sequence[DataFrame], *, marks: DataFrame | None = None
) -> dict[str, DataFrame]:
    """The tables after one refresh per part of bronze; events that an earlier part contains are skipped.

    `marks` are rows of meta.retired.
    """
    spark = parts[0].sparkSession
    tables: dict[str, DataFrame] = {}
    events: DataFrame | None = None
    for part in parts:
        new = part if events is None else part.join(events, ["ns", "seq"], "left_anti").select(part.columns)
        new = new.persist()
        if new.isEmpty():
            continue
        events = new if events is None else events.unionByName(new)
        observed, spans = (tables.get(table.name, empty_frame(spark, table)) for table in (OBSERVED, BROKER_SPANS))
        windows = find_windows(new, observed=observed, spans=spans, events=events)
        tables = _refresh(steps, events, tables, windows, empty_frame(spark, RETIRED) if marks is None else marks)
    return {name: rows for name, rows in tables.items() if name != RETIRED.name}


def _refresh(
    steps: Sequence[Step],
    events: DataFrame,
    old: Mapping[str, DataFrame],
    windows: Sequence[Window],
    marks: DataFrame,
) -> dict[str, DataFrame]:
    """All tables of the steps, by name, after a refresh; `old` has the tables before it."""
    affected = Affected(windows, all_steps=False)
    upstream: dict[str, tuple[Table, DataFrame]] = {RETIRED.name: (RETIRED, marks)}
    # checkpoints cut the lineage, which every later plan would contain
    states, rollups = (events.where(test).localCheckpoint() for test in (~is_rollup(), is_rollup()))
    with with_event_time(states, rollups, windows) as timed:
        for step in steps:
            table = step.table
            before = old.get(table.name)
            if before is None:
                before = empty_frame(events.sparkSession, table)
            inputs = Inputs(step, events=timed, old=before, upstream=upstream, windows=windows)
            if not affected.includes(step, inputs):
                upstream[table.name] = table, before
                continue
            rows = before.where(~replaced(table, windows)).unionByName(conform(step.build(inputs), table))
            upstream[table.name] = table, rows.localCheckpoint()
            inputs.release()
    return {name: rows for name, (_, rows) in upstream.items()}

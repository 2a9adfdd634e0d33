"""Refreshes of the lake's tables in memory, one after the other, as an engine would do them with files."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from routebook.lake.build.refresh import refresh_in_memory, schema
from routebook.lake.build.step import Step
from routebook.lake.build.window import find_windows
from routebook.lake.tables.silver import OBSERVED


def needed(steps: Sequence[Step], *names: str) -> list[Step]:
    """Those of the steps that make these tables, and what they are made of."""
    wanted = set(names)
    for step in reversed(steps):
        if step.table.name in wanted:
            wanted.update(step.reads)
    wanted.add(OBSERVED.name)
    unknown = set(names) - {step.table.name for step in steps}
    if unknown:
        raise LookupError(f"no step makes {', '.join(sorted(unknown))}")
    return [step for step in steps if step.table.name in wanted]


def refreshed(steps: Sequence[Step], parts: Sequence[DataFrame]) -> dict[str, DataFrame]:
    """The tables after so many refreshes, each with one part of bronze; an event that is there already is not new."""
    spark = parts[0].sparkSession
    tables: dict[str, DataFrame] = {}
    events: DataFrame | None = None
    for part in parts:
        new = part if events is None else part.join(events, ["ns", "seq"], "left_anti").select(part.columns)
        new = new.persist()
        if new.isEmpty():
            continue
        events = new if events is None else events.unionByName(new)
        observed = tables.get(OBSERVED.name)
        if observed is None:
            observed = spark.createDataFrame([], schema(OBSERVED))
        tables = refresh_in_memory(steps, events, tables, find_windows(new, observed=observed, events=events))
    return tables

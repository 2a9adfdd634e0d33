"""Conflicts: lines whose event has a number that bronze has with other content, as after a home folder was copied."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.schema import schema
from routebook.lake.tables.bronze import EVENTS

REASON = "conflict"
_NUMBER = ("ns", "seq")
_NOT_CONTENT = ("day", "source")  # derived


@contextmanager
def conflicting(rows: DataFrame, kept: DataFrame, *columns: str) -> Iterator[DataFrame]:
    """These columns of the rows whose content differs from the event of `kept` with the same number.

    `kept_as` describes that event and its source. The rows are cached before they are joined: the optimizer derives
    constraints from the expressions of all bronze columns, which takes minutes in a plan with a join.
    """
    described = fn.concat(
        fn.col("kind"),
        fn.lit(" of "),
        fn.date_format("at", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"),
        fn.lit(" from "),
        fn.coalesce("source", fn.lit("an unknown segment")),
    )
    others = kept.select(*_NUMBER, content().alias("kept_content"), described.alias("kept_as"))
    hashed = rows.select(*_NUMBER, *columns, content().alias("content")).persist()
    try:
        joined = hashed.join(others, list(_NUMBER)).where(fn.col("content") != fn.col("kept_content"))
        yield joined.select(*_NUMBER, *columns, "kept_as")
    finally:
        hashed.unpersist()


def content() -> Column:
    """A hash over the content of an event. Spark has no hash of a map, so maps are hashed as sorted entries."""
    columns = [
        fn.array_sort(fn.map_entries(field.name)) if field.dataType.typeName() == "map" else fn.col(field.name)
        for field in schema(EVENTS).fields
        if field.name not in _NOT_CONTENT
    ]
    return fn.xxhash64(*columns)

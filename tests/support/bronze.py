"""Bronze rows from journal lines, without a lake."""

from collections.abc import Iterable, Sequence

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.bronze.parse import JSON_OPTIONS, ODD, events_of, json_schema

_FLEET = "([^/]+)/[^/]+/[^/]+$"


def from_lines(spark: SparkSession, lines: Sequence[str]) -> DataFrame:
    """The events of valid lines, without duplicates."""
    text = spark.createDataFrame(pa.table({"line": pa.array(lines, pa.string())}))
    options = {name: value for name, value in JSON_OPTIONS.items() if name not in ("lineSep", "encoding")}
    rows = events_of(text.select(fn.from_json("line", json_schema(), options).alias("event")).select("event.*"))
    assert rows.where(ODD).isEmpty(), "a line that is not an event"
    return rows.drop(ODD).dropDuplicates(["ns", "seq"])


def from_fleets(spark: SparkSession, folders: Iterable[str]) -> DataFrame:
    """The events of simulated fleets; each has a folder with one folder per NameServer.

    Names of NameServers and clusters get the folder of their fleet as a prefix, so that one lake can hold several.
    """
    paths = [f"{folder}/*/*.jsonl.zst" for folder in folders]
    events = spark.read.options(**JSON_OPTIONS).schema(json_schema()).json(paths)
    mark = fn.concat(fn.regexp_extract(fn.input_file_name(), _FLEET, 1), fn.lit("|"))
    return events_of(
        events.withColumn("ns", fn.concat(mark, "ns")).withColumn("cluster", fn.concat(mark, "cluster"))
    ).drop(ODD)

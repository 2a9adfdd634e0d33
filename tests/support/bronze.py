"""Journal lines as bronze rows, without files and a lake: for tests of what tables are made of them."""

from collections.abc import Iterable, Sequence

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.parse import JSON_OPTIONS, ODD, events_of, json_schema

_FLEET = "([^/]+)/[^/]+/[^/]+$"


def from_lines(spark: SparkSession, lines: Sequence[str]) -> DataFrame:
    """Each line once. All of them must be good."""
    text = spark.createDataFrame(pa.table({"line": pa.array(lines, pa.string())}))
    options = {name: value for name, value in JSON_OPTIONS.items() if name not in ("lineSep", "encoding")}
    rows = events_of(text.select(fn.from_json("line", json_schema(), options).alias("event")).select("event.*"))
    assert rows.where(ODD).isEmpty(), "a line that is no event"
    return rows.drop(ODD).dropDuplicates(["ns", "seq"])


def from_fleets(spark: SparkSession, folders: Iterable[str]) -> DataFrame:
    """All rolled segments of simulated fleets, a folder each with a folder for each NameServer in it.

    Names of NameServers and clusters begin with their fleet's folder and a bar: so several can be in one lake.
    """
    paths = [f"{folder}/*/*.jsonl.zst" for folder in folders]
    events = spark.read.options(**JSON_OPTIONS).schema(json_schema()).json(paths)
    mark = fn.concat(fn.regexp_extract(fn.input_file_name(), _FLEET, 1), fn.lit("|"))
    return events_of(
        events.withColumn("ns", fn.concat(mark, "ns")).withColumn("cluster", fn.concat(mark, "cluster"))
    ).drop(ODD)

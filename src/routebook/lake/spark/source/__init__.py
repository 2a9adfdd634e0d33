"""The Spark data source `routebook`: journals and live NameServers as tables and streams.

    from routebook.lake.spark.source import register
    register(spark)
    events = spark.readStream.format("routebook").option("server", "http://127.0.0.1:8876").load()

The columns are those of `bronze.events`; a narrower `.schema("ns string, seq bigint, kind string")` reads less.
The offset of a stream is one sequence number per NameServer, independent of how a journal is split into files.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from routebook.errors import UsageError
from routebook.lake.spark.source import folder, server
from routebook.lake.spark.source.columns import batches
from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.ddl import columns_of

_OPTIONS = "path, server, token, startingOffsets, mode"


def register(spark: SparkSession) -> None:
    """Register `format("routebook")` in a session."""
    context = getattr(spark, "_sc", None)  # Connect sessions have none
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # the default, the first python3 in PATH, may lack routebook
    spark.dataSource.register(RoutebookSource)


class RoutebookSource(DataSource):
    """Options: `path`, a journal folder or a folder of several; or `server`, comma-separated addresses.

    `token` for servers that require one; `startingOffsets` earliest or latest, for streams; `mode` FAILFAST, or
    DROPMALFORMED to skip lines that are not events.
    """

    @classmethod
    def name(cls) -> str:
        return "routebook"

    def schema(self) -> str:
        return EVENTS.ddl

    def reader(self, schema: StructType) -> "JournalReader":
        return JournalReader(SourceOptions(dict(self.options), schema))

    def streamReader(self, schema: StructType) -> "JournalStream":  # noqa: N802  # Spark's name
        return JournalStream(SourceOptions(dict(self.options), schema))


class SourceOptions:
    """The location and the columns of one read."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self.path = options.get("path")
        self.token = options.get("token")
        self.servers = [one.strip() for one in options.get("server", "").split(",") if one.strip()]
        if bool(self.path) == bool(self.servers):
            raise UsageError(f'format("routebook"): set either path or server; the options are {_OPTIONS}')
        self.latest = _one_of(options, "startingOffsets", ("earliest", "latest")) == "latest"
        self.drop_malformed = _one_of(options, "mode", ("FAILFAST", "DROPMALFORMED")) == "DROPMALFORMED"
        known = {name for name, _ in columns_of(EVENTS.columns)}
        unknown = [name for name in schema.names if name not in known]
        if unknown:
            raise UsageError(
                f'format("routebook") has no column {", ".join(unknown)}; its columns are those of bronze.events'
            )
        self.schema: pa.Schema = to_arrow_schema(schema)

    def newest(self) -> dict[str, int]:
        """The newest sequence number of each NameServer."""
        if self.path is not None:
            return {ns: journal.last() for journal in folder.journals(self.path) if (ns := journal.ns()) is not None}
        return dict(server.describe(one, self.token) for one in self.servers)

    def partitions(self, after: dict[str, int], upto: dict[str, int] | None) -> list[InputPartition]:
        """One partition per segment of a folder, or per server."""
        if self.path is not None:
            return [
                InputPartition(piece)
                for journal in folder.journals(self.path)
                if (ns := journal.ns()) is not None and (upto is None or ns in upto)
                for piece in journal.ranges(after=after.get(ns, 0), upto=None if upto is None else upto[ns])
            ]
        found = []
        for one in self.servers:
            ns, newest = server.describe(one, self.token)
            last = newest if upto is None else upto.get(ns, 0)
            if last > after.get(ns, 0):
                found.append(InputPartition(server.Span(one, self.token, after.get(ns, 0), last)))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = partition.value
        lines = folder.lines(part) if isinstance(part, folder.SegmentRange) else server.lines(part)
        return batches(lines, self.schema, after=part.after, upto=part.upto, drop_malformed=self.drop_malformed)


class JournalReader(DataSourceReader):
    """Reads all events that exist now."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        return self._options.partitions({}, self._options.newest())

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._options.read(partition)


class JournalStream(DataSourceStreamReader):
    """Streams existing and new events. An offset is `{"ns-1": 417, …}`: the last number read from each NameServer."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's names
        return self._options.newest() if self._options.latest else {}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        return self._options.newest()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return self._options.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._options.read(partition)


def _one_of(options: dict[str, str], name: str, values: tuple[str, ...]) -> str:
    given = options.get(name, values[0])
    for value in values:
        if given.lower() == value.lower():
            return value
    raise UsageError(f"{name}={given}: use {' or '.join(values)}")

"""A Spark stream over the names of rolled segments; its checkpoint records which files were processed."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.bronze.journals import ROLLED, Journals, SegmentFile, escaped, normalized
from routebook.lake.build.bronze.parse import TEXT
from routebook.lake.errors import BrokenLake
from routebook.lake.spark.jvm import file_system, hadoop_path

_MIN_FILES: Final = 32  # per batch: bounds the work lost in a kill, and the interval of progress reports
_NO_MAX_AGE: Final = "36500d"  # Spark's default skips files a week older than the newest
_FILES: Final = "path string, modificationTime timestamp, length bigint, content binary"


class SegmentStream:
    """Hands every rolled segment to a batch function once."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._seen: set[str] | None = None

    def seen(self) -> set[str]:
        """Paths that the checkpoint records. Only for progress: the stream itself decides which files are new."""
        if self._seen is None:
            self._seen = self._read_checkpoint()
        return self._seen

    def add_seen(self, paths: set[str]) -> None:
        self._seen = self.seen() | paths

    def forget(self) -> None:
        """Delete the checkpoint: the next pass reads every segment again and skips the events that bronze has."""
        self._seen = None
        path = hadoop_path(self._spark, self._checkpoint)
        file_system(self._spark, path).delete(path, True)

    def run(self, journals: Journals, ingest: Callable[[Sequence[SegmentFile]], None]) -> None:
        """Process all new files. The stream carries names only: reading files as batches isolates unreadable ones."""
        max_files = max(_MIN_FILES, 8 * self._spark.sparkContext.defaultParallelism)
        failed: list[Exception] = []

        def process(names: DataFrame, _: int) -> None:
            try:
                ingest([SegmentFile(row.path, row.length, row.modified_ms) for row in names.collect()])
            except Exception as error:  # re-raised: Spark passes on the text only, so keep the exception
                failed.append(error)
                raise

        for key, pattern in journals.patterns().items():
            source = self._spark.readStream.format("binaryFile").schema(_FILES).option("maxFileAge", _NO_MAX_AGE)
            source = source.option("pathGlobFilter", f"*{ROLLED}").option("maxFilesPerTrigger", max_files)
            # Without `content` in the selection, Spark does not read the files.
            names = source.load(pattern).select(
                "path", "length", fn.unix_millis("modificationTime").alias("modified_ms")
            )
            writer = names.writeStream.foreachBatch(process).trigger(availableNow=True)
            query = writer.option("checkpointLocation", self._checkpoint_of(key)).start()
            try:
                query.awaitTermination()
            except PySparkException:
                raise (failed[0] if failed else _exception(query.exception())) from None
            finally:
                query.stop()

    def _checkpoint_of(self, key: str) -> str:
        return f"{self._checkpoint}/{blake2b(key.encode(), digest_size=6).hexdigest() if key else 'local'}"

    def _read_checkpoint(self) -> set[str]:
        pattern = f"{escaped(self._checkpoint)}/*/sources/0/*"
        try:
            lines = self._spark.read.text(pattern).where(fn.col(TEXT).startswith("{"))
            rows = lines.select(fn.get_json_object(TEXT, "$.path").alias("path")).distinct().collect()
        except PySparkException:  # no checkpoint yet
            return set()
        return {normalized(unquote(row.path)) for row in rows}


def _exception(error: Any) -> Exception:
    return error if isinstance(error, Exception) else BrokenLake("the stream over the segments failed")

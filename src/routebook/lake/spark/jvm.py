"""Access to the JVM beyond Spark's Python API: Hadoop file systems, Iceberg tables, Java exceptions."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

JvmError: Final[type[Exception]] = Py4JError  # a failure of the connection to the JVM, or any Java exception
JavaError: Final[type[Exception]] = Py4JJavaError  # a Java exception
_END_S: Final = 20.0


def start_jvm(conf: Any, **popen_options: Any) -> Any:
    """Start the process that runs Spark."""
    return launch_gateway(conf, popen_kwargs=popen_options)  # type: ignore[no-untyped-call]  # untyped in Spark


def end_jvm() -> None:
    """End the process that runs Spark, if this process started it, and wait for it.

    Otherwise it ends at some time after this process: Spark's gateway reads its standard input until that is closed.
    """
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    with suppress(OSError, Py4JError):
        gateway.shutdown()
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_END_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


def java_error(error: Exception) -> tuple[str, str]:
    """The class of a Java exception, without its package, and its message."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return type(error).__name__, str(error)
    return str(java.getClass().getSimpleName()), " ".join(str(java.getMessage()).split())


def java_classes(error: Exception) -> Iterator[str]:
    """The full class names of a Java exception and its causes, outermost first."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        yield str(java.getClass().getName())
        java = java.getCause()


def reason_of(error: Exception) -> str:
    """Why Spark or Iceberg failed, in one line: the innermost cause that has a message."""
    java, reason = getattr(error, "java_exception", None) or getattr(error, "_origin", None), ""
    with suppress(OSError, Py4JError):  # the JVM may have ended
        while java is not None:
            if message := str(java.getMessage() or ""):
                reason = f"{java.getClass().getSimpleName()}: {message.strip().splitlines()[0]}"
            java = java.getCause()
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by")]
    return reason or (causes or lines or [type(error).__name__])[-1 if causes else 0]


def hadoop_path(spark: SparkSession, text: str) -> Any:
    """A Hadoop `Path`."""
    return _jvm(spark).org.apache.hadoop.fs.Path(text)


def file_system(spark: SparkSession, path: Any) -> Any:
    """The Hadoop `FileSystem` of a path."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


def iceberg_table(spark: SparkSession, name: str) -> Any:
    """Iceberg's `Table` object: operations on metadata need no Spark job."""
    return _jvm(spark).org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def iceberg_table_exists(spark: SparkSession, catalog: str, path: str) -> bool:
    return bool(_catalog(spark, catalog).tableExists(_identifier(spark, path)))


def create_iceberg_table(
    spark: SparkSession,
    catalog: str,
    path: str,
    columns: StructType,
    *,
    partition: str | None,
    by_day: bool,
    truncated: str | None,
    properties: Mapping[str, str],
) -> None:
    """Create a table, partitioned by these columns, with an empty first snapshot, in one commit.

    Iceberg's interface needs a fraction of the time of `CREATE TABLE`, which Spark parses, analyses and plans.
    """
    iceberg = _jvm(spark).org.apache.iceberg
    java: Any = spark._jsparkSession
    schema = iceberg.spark.SparkSchemaUtil.convert(java.parseDataType(columns.json()))
    spec = iceberg.PartitionSpec.builderFor(schema)
    if partition is not None:
        spec = spec.day(partition) if by_day else spec.identity(partition)
    if truncated is not None:
        spec = spec.truncate(truncated, 1)
    builder = _catalog(spark, catalog).buildTable(_identifier(spark, path), schema)
    made = builder.withPartitionSpec(spec.build()).withProperties(dict(properties)).createTransaction()
    made.newAppend().commit()
    made.commitTransaction()


def _catalog(spark: SparkSession, name: str) -> Any:
    return _jvm(spark).org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(spark._jsparkSession, name)


def _identifier(spark: SparkSession, path: str) -> Any:
    return _jvm(spark).org.apache.iceberg.catalog.TableIdentifier.parse(path)


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm

"""Access to the JVM beyond Spark's Python API: Hadoop file systems, Iceberg tables, Java exceptions."""

from collections.abc import Iterator
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

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


def hadoop_path(spark: SparkSession, text: str) -> Any:
    """A Hadoop `Path`."""
    return _jvm(spark).org.apache.hadoop.fs.Path(text)


def file_system(spark: SparkSession, path: Any) -> Any:
    """The Hadoop `FileSystem` of a path."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


def iceberg_table(spark: SparkSession, name: str) -> Any:
    """Iceberg's `Table` object: operations on metadata need no Spark job."""
    return _jvm(spark).org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm

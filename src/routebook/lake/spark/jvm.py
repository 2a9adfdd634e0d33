"""What Spark's Python API has no door to: Hadoop's file systems, Iceberg's own tables, and the JVM's errors."""

from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

JvmError: Final[type[Exception]] = Py4JError  # the connection to the JVM, or anything it throws
JavaError: Final[type[Exception]] = Py4JJavaError  # what Java code threw


def start_jvm(conf: Any, **how: Any) -> Any:
    """Spark's process; `how` goes to Popen."""
    return launch_gateway(conf, popen_kwargs=how)  # type: ignore[no-untyped-call]  # Spark did not type it


def thrown(error: Exception) -> tuple[str, str]:
    """The class, without its package, and the message of what Java threw."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return type(error).__name__, str(error)
    return str(java.getClass().getSimpleName()), " ".join(str(java.getMessage()).split())


def hadoop_path(spark: SparkSession, text: str) -> Any:
    """Hadoop's own path object."""
    return _jvm(spark).org.apache.hadoop.fs.Path(text)


def file_system(spark: SparkSession, path: Any) -> Any:
    """The file system that a path is in."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


def iceberg_table(spark: SparkSession, name: str) -> Any:
    """Iceberg's own table: what concerns only its metadata needs no job of Spark."""
    return _jvm(spark).org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm

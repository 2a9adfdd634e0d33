"""Starts a Spark session with Iceberg: Java, jars, catalog and settings."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from routebook.lake.config import LakeConfig, lake_config
from routebook.lake.errors import NoJars, SparkFailed
from routebook.lake.layout import LOG_FILE
from routebook.lake.spark.catalog import CATALOG_KEY, catalog_settings, packages, store_settings, warehouse
from routebook.lake.spark.java import java_home
from routebook.lake.spark.jvm import end_jvm, start_jvm

EXTENSIONS: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a session. `conf` is passed to Spark unchanged and overrides the defaults."""

    lake: str
    master: str | None = None  # None: from `conf` or spark-submit, else all local cores
    conf: Mapping[str, str] = {}
    jars: Sequence[str] = ()  # instead of downloading packages from Maven
    journals: Sequence[str] = ()  # decide, besides the lake, which packages are needed


def open_session(options: SessionOptions) -> SparkSession:
    """A session with the catalog `routebook`. Raises a LakeError that names what is missing and the remedy."""
    settings = spark_settings(options)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM
        return _session(SparkSession.builder, settings)
    if SparkSession.getActiveSession() is None:
        _start(options, settings)
    return _session(SparkSession.builder, settings)


def close_session(session: SparkSession) -> None:
    """Stop Spark and end its process: afterwards nothing writes to the lake."""
    try:
        session.stop()
    finally:
        end_jvm()


def spark_settings(options: SessionOptions) -> dict[str, str]:
    """All settings: defaults for one machine, then the catalog, then `conf`."""
    config = lake_config(options.lake)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    master = options.master or options.conf.get("spark.master") or (None if submitted else "local[*]")
    settings = {
        "spark.app.name": "routebook lake",
        "spark.sql.session.timeZone": "UTC",
        # Steps with arrays need seconds for each MB of shuffled data: small partitions keep all cores busy.
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "64k",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # a stack trace for every column expression
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.ansi.enabled": "true",
        "spark.sql.codegen.hugeMethodLimit": "8000",  # HotSpot does not compile longer methods; Spark splits them
        "spark.log.level": "ERROR",
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        **_catalog(config, options.conf),
    }
    if master is not None:
        settings["spark.master"] = master
        if master.startswith("local"):
            settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if options.jars:
        settings["spark.jars"] = ",".join(options.jars)
    elif not submitted:
        conf_packages = filter(None, options.conf.get("spark.jars.packages", "").split(","))
        wanted = [*packages(config, *options.journals), *conf_packages]
        return settings | dict(options.conf) | {"spark.jars.packages": ",".join(dict.fromkeys(wanted))}
    return settings | dict(options.conf)


def _catalog(config: LakeConfig, conf: Mapping[str, str]) -> dict[str, str]:
    """The catalog of the lake, unless `conf` configures another one."""
    common = {
        CATALOG_KEY: "org.apache.iceberg.spark.SparkCatalog",
        f"{CATALOG_KEY}.cache-enabled": "false",  # another process may have committed
        f"{CATALOG_KEY}.warehouse": warehouse(config),
        **store_settings(config.store),
    }
    if any(key.startswith(f"{CATALOG_KEY}.") and not key.endswith(".warehouse") for key in conf):
        return common
    return common | catalog_settings(config)


def _start(options: SessionOptions, settings: Mapping[str, str]) -> None:
    """Start the JVM, with its output in a file, and a Spark context."""
    os.environ["JAVA_HOME"] = str(java_home(os.environ))
    if settings.get("spark.master", "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    log = log_file(options.lake)
    log.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # none yet
        log.replace(log.with_name(f"{LOG_FILE}.1"))
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with log.open("wb") as output:
        try:
            gateway = start_jvm(conf, stdout=output, stderr=output)
        except (PySparkException, OSError) as error:
            raise _start_error(log, settings, error) from None
    try:
        SparkContext(conf=conf, gateway=gateway)
    except Exception as error:  # noqa: BLE001  # any JVM exception: py4j has no narrower class
        with suppress(OSError):
            gateway.shutdown()
        raise _start_error(log, settings, error) from None


def _session(builder: Any, settings: Mapping[str, str]) -> SparkSession:
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel(settings["spark.log.level"])
    return session


def log_file(lake: str) -> Path:
    """The file for Spark's output."""
    return lake_config(lake).state_folder / LOG_FILE


def _start_error(log: Path, settings: Mapping[str, str], error: Exception) -> Exception:
    """The reason why the JVM did not start, and the remedy."""
    lines: list[str] = []
    with suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()[-400:]
    text = "\n".join(lines)
    if "unresolved dependency" in text.lower() or "UNRESOLVED DEPENDENCIES" in text:
        return NoJars(
            "the Iceberg jars are not in the local cache and cannot be downloaded from Maven "
            f"({settings['spark.jars.packages']}): connect to the network once, configure a mirror with "
            "--conf spark.jars.repositories=URL, or download them and pass each with --jars"
        )
    errors = [line.strip() for line in lines if "Exception" in line or "Error" in line]
    reason = errors[0] if errors else " ".join(str(error).split())
    return SparkFailed(f"Spark did not start: {reason[:500]}; the full output is in {log}")

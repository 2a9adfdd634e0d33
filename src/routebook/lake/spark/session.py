"""Starts Spark with Iceberg: Java, jars, catalog, settings; quiet, and clear about what is missing."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from routebook.errors import UsageError
from routebook.lake.errors import NoJars, SparkFailed
from routebook.lake.paths import Place
from routebook.lake.spark.java import java_home
from routebook.lake.spark.jvm import start_jvm

CATALOG: Final = "routebook"
CATALOG_FILE: Final = "catalog.db"
WAREHOUSE: Final = "warehouse"
LOG_FILE: Final = "spark.log"
PACKAGES: Final = ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", "org.xerial:sqlite-jdbc:3.50.3.0")
EXTENSIONS: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_CATALOG_KEY: Final = f"spark.sql.catalog.{CATALOG}"


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller decides. `conf` goes to Spark as it is and wins over what is set here."""

    lake: str
    master: str | None = None  # None: what `conf` or spark-submit says, else all cores of this machine
    conf: Mapping[str, str] = {}
    jars: Sequence[str] = ()  # instead of packages from Maven
    hold: tuple[int, ...] = ()  # file descriptors that Spark's process is to keep open, too: a lock outlives a kill


def open_session(options: SessionOptions) -> SparkSession:
    """A session with the catalog `routebook`. Raises a LakeError that says what is missing and what to do."""
    settings = spark_settings(options)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # started by spark-submit, which has started the JVM
        return _got(SparkSession.builder, settings)
    if SparkSession.getActiveSession() is None:
        _start(options, settings)
    return _got(SparkSession.builder, settings)


def spark_settings(options: SessionOptions) -> dict[str, str]:
    """Everything that is set: defaults that suit one machine, then the catalog, then what the caller gave."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    master = options.master or options.conf.get("spark.master") or (None if submitted else "local[*]")
    settings = {
        "spark.app.name": "routebook lake",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.ansi.enabled": "true",
        "spark.sql.codegen.hugeMethodLimit": "8000",  # HotSpot never compiles longer methods; Spark then cuts them up
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        **_catalog(options),
    }
    if master is not None:
        settings["spark.master"] = master
        if master.startswith("local"):
            settings |= {
                "spark.driver.memory": "2g",
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
            }
    if options.jars:
        settings["spark.jars"] = ",".join(options.jars)
    elif not submitted:
        wanted = [*PACKAGES, *filter(None, options.conf.get("spark.jars.packages", "").split(","))]
        return settings | dict(options.conf) | {"spark.jars.packages": ",".join(dict.fromkeys(wanted))}
    return settings | dict(options.conf)


def _catalog(options: SessionOptions) -> dict[str, str]:
    """The embedded one, unless the caller names another."""
    place = Place(options.lake)
    common = {
        _CATALOG_KEY: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG_KEY}.cache-enabled": "false",  # another process may have committed
        f"{_CATALOG_KEY}.warehouse": place.child(WAREHOUSE),
    }
    if any(key.startswith(f"{_CATALOG_KEY}.") and not key.endswith(".warehouse") for key in options.conf):
        return common
    folder = place.local
    if folder is None:
        raise UsageError(
            f"--lake {options.lake}: the embedded catalog is a file of this machine; name a catalog for this lake with "
            f"--conf {_CATALOG_KEY}.type=rest --conf {_CATALOG_KEY}.uri=… (or hive, glue, jdbc)"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--lake {folder}: {error.strerror}") from None
    return common | {
        f"{_CATALOG_KEY}.type": "jdbc",
        f"{_CATALOG_KEY}.uri": f"jdbc:sqlite:{folder / CATALOG_FILE}?busy_timeout=20000",
        f"{_CATALOG_KEY}.jdbc.schema-version": "V1",
    }


def _start(options: SessionOptions, settings: Mapping[str, str]) -> None:
    """Starts the JVM with its noise in a file, and the context in it."""
    os.environ["JAVA_HOME"] = str(java_home(os.environ))
    if settings.get("spark.master", "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    folder = Place(options.lake).local
    log = folder / LOG_FILE if folder is not None else None
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with (log or Path(os.devnull)).open("wb") as noise:
        try:
            gateway = start_jvm(conf, stdout=noise, stderr=noise, pass_fds=options.hold)
        except (PySparkException, OSError) as error:
            raise _why(log, settings, error) from None
    try:
        SparkContext(conf=conf, gateway=gateway)
    except Exception as error:  # noqa: BLE001  # whatever the JVM throws: py4j has no narrower class for it
        with suppress(OSError):
            gateway.shutdown()
        raise _why(log, settings, error) from None


def _got(builder: Any, settings: Mapping[str, str]) -> SparkSession:
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel(settings["spark.log.level"])
    return session


def _why(log: Path | None, settings: Mapping[str, str], error: Exception) -> Exception:
    """What people can do about a JVM that did not come up."""
    lines: list[str] = []
    with suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()[-400:] if log is not None else []
    text = "\n".join(lines)
    if "unresolved dependency" in text.lower() or "UNRESOLVED DEPENDENCIES" in text:
        return NoJars(
            "the jars of Iceberg are not here and could not be downloaded from Maven "
            f"({settings['spark.jars.packages']}): go online once, name a mirror with "
            "--conf spark.jars.repositories=URL, or download them and give each with --jars"
        )
    told = [line.strip() for line in lines if "Exception" in line or "Error" in line]
    reason = told[0] if told else " ".join(str(error).split())
    where = f"; all it said is in {log}" if log is not None else ""
    return SparkFailed(f"Spark did not start: {reason[:500]}{where}")

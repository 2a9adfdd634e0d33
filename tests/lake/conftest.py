"""Fixtures of the lake tests: one Spark session with Iceberg and a fresh catalog for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from routebook.lake.spark.session import SessionOptions, open_session
from tests.support.lake import SparkLake
from tests.support.shared_lake import SharedLake, shared_lake

# Tiny data: planning and compiling take nearly all the time. Without code generation and with the C1 compiler only, the
# case folders need less than half the CPU time. tests/lake/test_built_lake.py runs a build with the product's settings.
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "256m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.driver.memory": "2g",  # an event of tens of megabytes beside the plans of all tests
    "spark.ui.enabled": "false",
}


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of `collect` to the garbage collector; a test cannot close them."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def lake_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the lake that `lake_spark` writes to."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def _session(lake_home: Path) -> Iterator[SparkSession]:
    """The only JVM of the process. It always has the Iceberg jars, because jars cannot be added later."""
    session = open_session(SessionOptions(lake=str(lake_home), master="local[1]", conf=SMALL))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(_session: SparkSession) -> SparkSession:
    """A Spark session with one core and one shuffle partition, in UTC."""
    return _session


@pytest.fixture(scope="session")
def lake_spark(_session: SparkSession) -> SparkSession:
    """The same session; its catalog `routebook` is a fresh SQLite file in `lake_home`."""
    return _session


@pytest.fixture
def small_lake(lake_spark: SparkSession, lake_home: Path) -> SparkLake:
    """An empty lake with one step."""
    return SparkLake(lake_spark, lake_home)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedLake]:
    """A lake on S3 with a PostgreSQL catalog; its secrets are in the environment."""
    with shared_lake(tmp_path) as lake:
        for key, value in lake.variables.items():
            monkeypatch.setenv(key, value)
        yield lake

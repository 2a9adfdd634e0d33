"""What the lake's tests share: one small Spark for all of them, and one with Iceberg and a fresh catalog."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from routebook.lake.spark.session import SessionOptions, open_session
from tests.support.lake import SmallLake

SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
}


def pytest_configure(config: pytest.Config) -> None:
    """Spark leaves sockets, over which rows came, to the garbage collector: nothing that a test could close."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def lake_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the lake that `lake_spark` writes to."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def _session(lake_home: Path) -> Iterator[SparkSession]:
    """A process has one JVM: whoever asks first decides which jars are in it, so it always has Iceberg's."""
    session = open_session(SessionOptions(lake=str(lake_home), master="local[1]", conf=SMALL))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(_session: SparkSession) -> SparkSession:
    """Spark with one core and one shuffle partition, in UTC."""
    return _session


@pytest.fixture(scope="session")
def lake_spark(_session: SparkSession) -> SparkSession:
    """The same with the catalog `routebook` over a fresh SQLite file in `lake_home`."""
    return _session


@pytest.fixture
def small_lake(lake_spark: SparkSession, lake_home: Path) -> SmallLake:
    """An empty lake with one step."""
    return SmallLake(lake_spark, lake_home)

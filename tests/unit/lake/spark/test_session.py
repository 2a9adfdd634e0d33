"""Settings of a Spark session."""

from pathlib import Path

from routebook.lake.spark.session import SessionOptions, spark_settings


def test_given_settings_override_the_defaults(tmp_path: Path) -> None:
    conf = {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "64m", "spark.driver.memory": "8g"}
    settings = spark_settings(SessionOptions(lake=str(tmp_path / "lake"), master="local[2]", conf=conf))
    assert settings | conf == settings
    assert "spark.sql.shuffle.partitions" not in settings, "chosen for each pass"

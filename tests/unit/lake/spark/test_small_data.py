"""Which inputs are small enough for the settings without code generation."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from routebook.lake.spark.small_data import MAX_BYTES, MAX_ROWS, fit, is_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_files_of_all_folders_count_together(tmp_path: Path) -> None:
    first, second = tmp_path / "journal", tmp_path / "lake" / "warehouse"
    for folder in (first, second):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(bytes(MAX_BYTES // 2))
    assert is_small([first, tmp_path / "lake", tmp_path / "none"])
    (second / "more").write_bytes(b"1")
    assert not is_small([first, tmp_path / "lake"])


def test_a_remote_folder_is_not_small(tmp_path: Path) -> None:
    assert not is_small([tmp_path, None])


class _Session:
    """The settings of a Spark session with eight cores; `given` are those of its context."""

    def __init__(self, **given: str) -> None:
        self.values: dict[str, str] = {}
        context = SimpleNamespace(getConf=lambda: given, defaultParallelism=8)
        conf = SimpleNamespace(set=self.values.__setitem__, unset=lambda key: self.values.pop(key, None))
        self.spark = cast("SparkSession", SimpleNamespace(sparkContext=context, conf=conf))


def test_settings_follow_the_number_of_rows_and_cores() -> None:
    session = _Session()
    fit(session.spark, MAX_ROWS)
    assert session.values["spark.sql.shuffle.partitions"] == "1"
    assert session.values["spark.sql.codegen.wholeStage"] == "false"
    fit(session.spark, MAX_ROWS + 1)
    assert session.values == {"spark.sql.shuffle.partitions": "24"}


def test_given_settings_stay() -> None:
    session = _Session(**{"spark.sql.shuffle.partitions": "7", "spark.sql.adaptive.enabled": "true"})
    for rows in (0, MAX_ROWS + 1):
        fit(session.spark, rows)
        assert "spark.sql.shuffle.partitions" not in session.values
        assert "spark.sql.adaptive.enabled" not in session.values

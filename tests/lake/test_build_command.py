"""`routebook lake build` reports wrong usage before it starts Spark, and leaves neither Spark nor the lock behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from routebook.cli import main
from routebook.lake.lock import LakeLock
from tests.support.lake import numbered, write_rolled


def run_lake(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = main(["lake", *args])
    return code, capsys.readouterr().err


def test_a_missing_journal_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, error = run_lake(capsys, "build", "--journal", str(tmp_path / "none"), "--lake", str(tmp_path / "lake"))
    assert (code, error.count("\n")) == (2, 1)
    assert "no such folder" in error
    assert not (tmp_path / "lake").exists()


def test_a_folder_without_segments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    code, error = run_lake(capsys, "build", "--journal", str(tmp_path), "--lake", str(tmp_path / "lake"))
    assert code == 2
    assert "not a journal: it has 1 files, but no segment" in error


def test_a_file_instead_of_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_rolled(tmp_path, 1, 1, numbered("n", [1]))
    code, error = run_lake(capsys, "build", "--journal", str(path), "--lake", str(tmp_path / "lake"))
    assert code == 2
    assert "give the folder that contains it" in error


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("build", "--conf", "nonsense"), "--conf nonsense: not KEY=VALUE"),
        (("build", "--jars", "/no/such.jar"), "--jars /no/such.jar: no such file"),
        (("backfill", "--from", "yesterday"), "--from yesterday: not a day"),
        (("backfill", "--from", "2026-01-02", "--to", "2026-01-01"), "is before --from"),
    ],
)
def test_invalid_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, args: tuple[str, ...], expected: str
) -> None:
    code, error = run_lake(capsys, *args, "--lake", str(tmp_path / "lake"))
    assert code == 2
    assert expected in error


def test_a_remote_lake_needs_a_catalog(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_rolled(tmp_path, 1, 1, numbered("n", [1]))
    code, error = run_lake(capsys, "build", "--journal", str(tmp_path), "--lake", "s3a://bucket/lake")
    assert code == 2
    assert "--conf spark.sql.catalog.routebook.type=rest" in error


def test_a_second_build_reports_the_lock_holder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_rolled(tmp_path / "journal", 1, 1, numbered("n", [1]))
    first = LakeLock(tmp_path / "lake")
    first.acquire("follow")
    try:
        code, error = run_lake(
            capsys, "build", "--journal", str(tmp_path / "journal"), "--lake", str(tmp_path / "lake")
        )
    finally:
        first.close()
    assert code == 1
    assert "(lake follow)" in error


HOLD_AND_CLOSE = """
import os, sys
from pyspark import SparkContext
from routebook.cli.lake.options import BuildOptions
from routebook.cli.lake.session import lake_lock, spark_session

options = BuildOptions(lake=sys.argv[1], journals=[], master="local[1]", conf={"spark.driver.memory": "512m"}, jars=[])
lock = lake_lock(options)
lock.acquire("build")
with spark_session(options, lock):
    pid = SparkContext._gateway.proc.pid
    files = f"/proc/{pid}/fd"
    inherited = [name for name in os.listdir(files) if os.readlink(f"{files}/{name}").endswith("building.lock")]
print(pid, len(inherited))
"""


@pytest.mark.slow
def test_the_next_command_can_start_at_once(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HOLD_AND_CLOSE, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        timeout=600.0,  # generous: the machine can be busy
        check=False,
    )
    next_command = LakeLock(tmp_path / "lake")
    next_command.acquire("vacuum")
    next_command.close()
    assert ran.returncode == 0, ran.stderr
    jvm, inherited = ran.stdout.split()
    assert inherited == "0", "Spark's process must not hold the lock"
    assert not Path(f"/proc/{jvm}").exists(), "Spark's process must end first"

"""A build on a Spark cluster of one master and two workers, with spark-submit and the wheel; one executor is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from routebook.lake.config import lake_config
from routebook.lake.spark.catalog import packages
from routebook.lake.spark.session import EXTENSIONS
from tests.support.lake import line, write_rolled
from tests.support.lake_processes import LIMIT_S, contents, finish, start
from tests.support.spark_cluster import SPARK_HOME, environment, spark_cluster

pytestmark = [pytest.mark.slow, pytest.mark.lake_long]
ROOT = Path(__file__).parents[2]
JOB = "import sys, routebook; print(routebook.__file__); from routebook.cli import main; sys.exit(main(sys.argv[1:]))"


def wheel(folder: Path) -> Path:
    made = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"needs to build a wheel: {made.stderr[-300:]}")
    return next(folder.glob("*.whl"))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find executors")
def test_a_cluster_that_loses_an_executor_builds_the_same_tables(tmp_path: Path) -> None:
    for ns in ("n1", "n2"):
        for first in range(1, 4001, 500):
            lines = [
                line(ns, seq, "server_started", version="1", listen="a:1") if seq == 1 else line(ns, seq)
                for seq in range(first, first + 500)
            ]
            write_rolled(tmp_path / ns, first, first + 499, lines)
    journals = [item for ns in ("n1", "n2") for item in ("--journal", str(tmp_path / ns))]
    finish(start("build", *journals, "--lake", str(tmp_path / "local")))

    job = tmp_path / "job.py"
    job.write_text(JOB)
    package = wheel(tmp_path)
    with spark_cluster(tmp_path) as cluster:
        command = [
            *(SPARK_HOME / "bin" / "spark-submit", "--master", cluster.master),
            *("--executor-cores", "1", "--executor-memory", "800m", "--driver-memory", "1g"),
            *("--packages", ",".join(packages(lake_config(tmp_path))), "--conf", f"spark.sql.extensions={EXTENSIONS}"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
            *("--py-files", package, job, "lake", "build", *journals, "--lake", tmp_path / "cluster"),
        ]
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        while (not (found := cluster.executors()) or not bronze(tmp_path / "cluster")) and process.poll() is None:
            time.sleep(0.05)
        if found:
            os.kill(found[0], signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err[-2000:]
    assert found, "an executor was killed"
    assert package.name in out, "the wheel's own modules ran"
    assert contents(tmp_path / "cluster") == contents(tmp_path / "local")


def bronze(lake: Path) -> bool:
    """Whether events are being written."""
    return any(lake.glob("warehouse/bronze/events/data/**/*.parquet"))

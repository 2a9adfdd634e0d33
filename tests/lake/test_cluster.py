"""A build on a Spark cluster of one master and two workers, with spark-submit and the wheel; one executor is killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from routebook.lake.spark.java import java_home
from routebook.lake.spark.session import EXTENSIONS, PACKAGES
from tests.support.lake import line, write_rolled
from tests.support.lake_processes import LIMIT_S, contents, finish, start

pytestmark = [pytest.mark.slow, pytest.mark.lake_long]
ROOT = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
JOB = "import sys, routebook; print(routebook.__file__); from routebook.cli import main; sys.exit(main(sys.argv[1:]))"


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "JAVA_HOME": str(java_home(os.environ)),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def daemon(folder: Path, name: str, *args: str) -> Iterator[int]:
    """Run a Spark master or worker; yields its process id."""
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *args]
    with (folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env=environment() | {"SPARK_WORKER_DIR": str(folder)},
            start_new_session=True,
        )
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def listening(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def executors_of(workers: list[int]) -> list[int]:
    """The executor processes of these workers."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
            line = (entry.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) in workers and b"CoarseGrainedExecutorBackend" in line:
            found.append(int(entry.parent.name))
    return found


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
    port, pages = free_port(), free_port()
    with ExitStack() as stack:
        stack.enter_context(
            daemon(tmp_path, "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(pages))
        )
        end = time.monotonic() + LIMIT_S
        while not listening(port) and time.monotonic() < end:
            time.sleep(0.1)
        worker = ("worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
        workers = [stack.enter_context(daemon(tmp_path, *worker, f"spark://127.0.0.1:{port}")) for _ in range(2)]
        command = [
            *(SPARK_HOME / "bin" / "spark-submit", "--master", f"spark://127.0.0.1:{port}"),
            *("--executor-cores", "1", "--executor-memory", "800m", "--driver-memory", "1g"),
            *("--packages", ",".join(PACKAGES), "--conf", f"spark.sql.extensions={EXTENSIONS}"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
            *("--py-files", package, job, "lake", "build", *journals, "--lake", tmp_path / "cluster"),
        ]
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        while (not (found := executors_of(workers)) or not bronze(tmp_path / "cluster")) and process.poll() is None:
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

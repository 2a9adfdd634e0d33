"""A standalone Spark cluster of one master and two workers on loopback."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pyspark

from routebook.lake.spark.java import java_home
from tests.support.free_ports import free_port, is_listening

SPARK_HOME: Final = Path(pyspark.__file__).parent
_START_S: Final = 300.0


class SparkCluster(NamedTuple):
    """A running cluster."""

    master: str
    workers: list[int]  # process ids

    def executors(self) -> list[int]:
        """The executor processes."""
        return executors_of(self.workers)


@contextmanager
def spark_cluster(folder: Path, *, memory: str = "1g") -> Iterator[SparkCluster]:
    """Two workers with one core each."""
    folder.mkdir(parents=True, exist_ok=True)
    port, pages = free_port(), free_port()
    with ExitStack() as stack:
        stack.enter_context(
            daemon(folder, "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(pages))
        )
        end = time.monotonic() + _START_S
        while not is_listening(port) and time.monotonic() < end:
            time.sleep(0.1)
        url = f"spark://127.0.0.1:{port}"
        worker = ("worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", memory, "--webui-port", "0", url)
        yield SparkCluster(url, [stack.enter_context(daemon(folder, *worker)) for _ in range(2)])


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "JAVA_HOME": str(java_home(os.environ)),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }


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

"""Three NameServers archive to S3 while a fleet with faults runs; `lake follow` on a cluster survives kills."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from routebook.errors import RoutebookError
from routebook.lake.read.open import open_lake
from tests.support.lake_processes import LIMIT_S, contents, finish, kill, start
from tests.support.process import Process, serving
from tests.support.shared_lake import SharedLake
from tests.support.spark_cluster import SparkCluster, spark_cluster

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.lake_long]
SETTINGS = (
    "spark.driver.host=127.0.0.1",
    "spark.driver.bindAddress=127.0.0.1",
    "spark.executor.memory=800m",
    "spark.executor.cores=1",
)


def test_the_tables_equal_those_of_an_embedded_lake(shared: SharedLake, tmp_path: Path) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(spark_cluster(tmp_path / "cluster"))
        settings = {"routebook.archive.url": shared.journals, "routebook.archive.rollSeconds": "5"}
        servers = [
            stack.enter_context(serving(tmp_path / name, settings=settings, environment=shared.variables))
            for name in ("ns1", "ns2", "ns3")
        ]
        addresses = ";".join(f"{host}:{port}" for host, port in (server.address for server in servers))
        fleet = Process("fleet", "run", "-s", "demo", "-n", addresses, "--time-scale", "4", "--brokers", "12")
        stack.callback(fleet.kill)
        _follow_through_faults(shared, cluster)
        fleet.send(signal.SIGINT)
        fleet.wait(timeout_s=LIMIT_S)
        for server in servers:
            assert server.stop() == 0
        built = shared.run("build", "--journal", shared.journals, *_cluster_options(cluster))
        assert built.returncode == 0, built.stderr
    fetch = Process("journal", "fetch", shared.journals, "--to", str(tmp_path / "copy"), environment=shared.variables)
    assert fetch.wait(timeout_s=LIMIT_S) == 0, fetch.log
    finish(start("build", "--journal", str(tmp_path / "copy"), "--lake", str(tmp_path / "embedded")))
    found = contents(shared.file)
    assert len(found["events"]) > 100
    assert found == contents(tmp_path / "embedded")
    assert shared.run("report").returncode == 0


def _follow_through_faults(shared: SharedLake, cluster: SparkCluster) -> None:
    command = ("follow", "--every", "1", "--journal", shared.journals, *_cluster_options(cluster))
    follow = shared.start(*command)
    try:
        _wait(lambda: bool(cluster.executors()))
        _wait(lambda: _builds(shared) >= 1)
        os.kill(cluster.executors()[0], signal.SIGKILL)
        _another_build(shared)
        shared.s3.kill()
        time.sleep(5.0)
        shared.s3.start()
        _another_build(shared)
        shared.postgres.kill()
        time.sleep(5.0)
        shared.postgres.start()
        _another_build(shared)
        kill(follow)  # the driver
        follow = shared.start(*command)
        _another_build(shared)
        follow.send_signal(signal.SIGINT)
        follow.communicate(timeout=LIMIT_S)
    finally:
        if follow.poll() is None:
            kill(follow)


def _cluster_options(cluster: SparkCluster) -> list[str]:
    return ["--master", cluster.master, *(word for one in SETTINGS for word in ("--conf", one))]


def _another_build(shared: SharedLake) -> None:
    seen = _builds(shared)
    _wait(lambda: _builds(shared) > seen)


def _builds(shared: SharedLake) -> int:
    try:
        return len(open_lake(shared.file).builds())
    except RoutebookError:  # a server is away, or nothing is published yet
        return 0


def _wait(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(1.0)

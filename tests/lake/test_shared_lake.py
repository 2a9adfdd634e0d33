"""A lake in S3 with its catalog in PostgreSQL: built from an archive, read by commands and the console, locked."""

import os
from pathlib import Path

import httpx
import pytest

from routebook.archive.store import ArchiveStore
from routebook.lake.config import lake_config, store_options
from routebook.lake.errors import LakeBusy
from routebook.lake.lock import lock_of
from routebook.lake.spark.small_data import SETTINGS
from tests.support.lake import line, write_rolled
from tests.support.process import serving
from tests.support.shared_lake import SharedLake

pytestmark = [pytest.mark.slow, pytest.mark.java]


def archive(shared: SharedLake, folder: Path, ns: str, events: int) -> None:
    """Put one rolled segment into the archive."""
    lines = [
        line(ns, seq, "server_started", version="1", listen="a:1") if seq == 1 else line(ns, seq)
        for seq in range(1, events + 1)
    ]
    file = write_rolled(folder / ns, 1, events, lines)
    store = ArchiveStore(shared.journals, store_options(lake_config(shared.file).store))
    store.put_new(ns, file.name, file)


def test_a_shared_lake_is_built_and_read(shared: SharedLake, tmp_path: Path) -> None:
    for ns in ("n1", "n2"):
        archive(shared, tmp_path, ns, 40)
    config = lake_config(shared.file)
    before = shared.run("query", "SELECT 1")
    assert (before.returncode, "no build has finished yet" in before.stderr) == (1, True), before.stderr

    settings = [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]
    build = ("build", "--journal", shared.journals, "--master", "local[2]", *settings)
    lock = lock_of(config)
    assert lock is not None
    lock.acquire("test")
    busy = shared.run(*build)
    assert busy.returncode != 0
    assert f"routebook lake test, process {os.getpid()}" in busy.stderr
    lock.close()
    built = shared.run(*build)
    assert built.returncode == 0, built.stderr
    assert any(name.endswith(".parquet") for name in shared.s3.names("lake"))

    counted = shared.run("query", "SELECT ns, count(*) AS n FROM bronze.events GROUP BY ns ORDER BY ns", "--csv")
    assert counted.stdout == "ns,n\nn1,40\nn2,40\n", counted.stderr
    outside = shared.run("query", f"SELECT * FROM read_parquet('{shared.s3.url('lake')}/warehouse/**/*.parquet')")
    assert "disabled by configuration" in outside.stderr
    assert "gold.broker_sessions" in shared.run("tables").stdout
    assert shared.run("report", "availability").returncode == 0

    home = tmp_path / "home"
    home.mkdir()
    (home / "lake.toml").write_text(shared.file.read_text())
    with serving(home, http="127.0.0.1:0", environment=shared.variables) as server:
        http = server.wait_until_http()
        listed = httpx.get(f"{http}/v1/reports", timeout=60).json()
        assert listed["build"]["events"] == 80
        assert httpx.get(f"{http}/v1/reports/availability", timeout=60).status_code == 200

    shared.postgres.kill()
    away = shared.run("query", "SELECT 1")
    assert "check that the server runs" in away.stderr
    shared.postgres.start()
    shared.s3.kill()
    assert shared.run("query", "SELECT count(*) FROM bronze.events").returncode != 0
    shared.s3.start()
    assert shared.run("query", "SELECT count(*) FROM bronze.events", "--csv").stdout == "count_star()\n80\n"


def test_the_lock_ends_with_its_connection(shared: SharedLake) -> None:
    config = lake_config(shared.file)
    first, second = lock_of(config), lock_of(config)
    assert first is not None
    assert second is not None
    first.acquire("build")
    with pytest.raises(LakeBusy, match="routebook lake build"):
        second.acquire("build")
    shared.postgres.kill()  # the connection of the first ends
    shared.postgres.start()
    second.acquire("build")
    for lock in (first, second):
        lock.close()

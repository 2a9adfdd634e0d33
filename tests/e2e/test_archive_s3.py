"""The archive on a real S3 server: create-only uploads, an outage of the store, a lost disk."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from routebook.archive.store import AlreadyArchived, ArchiveStore
from tests.e2e.test_archive import events, eventually_archived
from tests.support.archived_journal import write_segments
from tests.support.process import Process, serving
from tests.support.remoting import Client, put_kv, register, route
from tests.support.s3_server import S3Server, s3_server

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


def test_of_many_creators_of_an_object_one_wins(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in s3.environment.items():
        monkeypatch.setenv(key, value)
    (name,) = write_segments(tmp_path, 1)

    def create(_: int) -> bool:
        try:
            ArchiveStore(s3.url("race")).put_new("ns-a", name, tmp_path / name)
        except AlreadyArchived:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(8))) == 1
    assert s3.names("race") == [f"race/ns-a/{name}"]


def test_an_outage_of_the_store_delays_uploads_and_a_lost_disk_is_restored(s3: S3Server, tmp_path: Path) -> None:
    home, url = tmp_path / "home", s3.url("journals")
    settings = {"routebook.archive.url": url, "routebook.archive.rollSeconds": "1"}
    with serving(home, http="127.0.0.1:0", settings=settings, environment=s3.environment) as ns:
        http = ns.wait_until_http()
        with Client(ns.address) as client:
            assert client.ask(register()).code == 0
            eventually_archived(http)
            s3.kill()
            assert client.ask(put_kv("K", "V")).code == 0, "requests do not wait for the archive"
            ns.wait_for_log("segments are not archived")
            part = httpx.get(f"{http}/v1/health").json()["parts"]["archive"]
            assert part["condition"] == "degraded"
            assert part["facts"]["behind_segments"] >= 1
            s3.start()
            ns.wait_for_log("the archive works again")
            eventually_archived(http)
            assert client.ask(put_kv("K2", "V2")).code == 0
            before = client.ask(route("TopicTest")).body
            assert httpx.get(f"{http}/v1/health").json()["parts"]["archive"]["condition"] == "ok"
            assert 'routebook_part{fact="behind_segments",part="archive"} ' in httpx.get(f"{http}/metrics").text
            assert ns.stop() == 0  # while the broker is connected: its route stays
    seen, identity = events(home / "journal"), (home / "identity.json").read_bytes()
    assert seen[-1] == "ServerStopped"
    shutil.rmtree(home)
    home.mkdir()
    (home / "identity.json").write_bytes(identity)
    with serving(home, settings=settings, environment=s3.environment) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).body == before
        assert "journal restored from the archive" in ns.log
        assert ns.stop() == 0
    assert events(home / "journal")[: len(seen)] == seen

    fetch = Process("journal", "fetch", url, "--to", str(tmp_path / "copy"), environment=s3.environment)
    assert fetch.wait() == 0, fetch.log
    (copy,) = (tmp_path / "copy").iterdir()
    assert events(copy) == events(home / "journal")

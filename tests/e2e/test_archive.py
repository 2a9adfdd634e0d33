"""A NameServer uploads its journal, loses its disk, and starts warm from the archive with the same identity."""

import shutil
import time
from pathlib import Path

import httpx
import pytest

from routebook.archive.restore import restore
from routebook.archive.store import ArchiveStore
from routebook.journal.files import FolderFiles
from routebook.journal.read.reader import Line, read
from tests.support.process import Process, serving
from tests.support.remoting import Client, put_kv, register, route

PATIENCE_S = 60


def settings(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"routebook.archive.url": f"file://{tmp_path}/archive", **more}


def events(folder: Path) -> list[str]:
    return [item.record.event.__class__.__name__ for item in read(FolderFiles(folder)) if isinstance(item, Line)]


def test_a_lost_disk_is_restored_from_the_archive(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serving(home, settings=settings(tmp_path)) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert client.ask(put_kv("K", "V")).code == 0
        before = client.ask(route("TopicTest")).body
        assert ns.stop() == 0
    identity = (home / "identity.json").read_bytes()
    seen = events(home / "journal")
    shutil.rmtree(home)
    home.mkdir()
    (home / "identity.json").write_bytes(identity)
    with serving(home, settings=settings(tmp_path)) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).body == before
        assert "journal restored from the archive" in ns.log
        assert ns.stop() == 0
    assert events(home / "journal")[: len(seen)] == seen


def test_a_clean_stop_leaves_nothing_behind(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serving(home, settings=settings(tmp_path)) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert ns.stop() == 0
    (name,) = ArchiveStore(f"file://{tmp_path}/archive").nameservers()
    restore(ArchiveStore(f"file://{tmp_path}/archive"), name, tmp_path / "copy")
    assert events(tmp_path / "copy") == events(home / "journal")
    assert events(tmp_path / "copy")[-1] == "ServerStopped"


def test_segments_are_uploaded_while_the_server_runs(tmp_path: Path) -> None:
    more = {"routebook.archive.rollSeconds": "1"}
    with serving(tmp_path / "home", http="127.0.0.1:0", settings=settings(tmp_path, **more)) as ns:
        url = ns.wait_until_http()
        with Client(ns.address) as client:
            assert client.ask(register()).code == 0
        facts = eventually_archived(url)
        assert facts["behind_segments"] == 0
        assert 'routebook_part{fact="behind_segments",part="archive"} 0.0' in httpx.get(f"{url}/metrics").text


def test_an_unreachable_archive_degrades_health_but_serves(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"not a folder")
    with serving(tmp_path / "home", http="127.0.0.1:0", settings=settings(tmp_path)) as ns:
        url = ns.wait_until_http()
        with Client(ns.address) as client:
            assert client.ask(register()).code == 0
        ns.wait_for_log("segments are not archived")
        part = httpx.get(f"{url}/v1/health").json()["parts"]["archive"]
        assert part["condition"] == "degraded"


def test_without_the_archive_a_lost_journal_stops_the_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "identity.json").write_text('{"ns":"ns-a"}')
    (tmp_path / "archive").write_bytes(b"not a folder")
    with (
        pytest.raises(AssertionError, match="cannot restore the journal of ns-a"),
        serving(home, settings=settings(tmp_path)),
    ):
        pass


def eventually_archived(url: str) -> "dict[str, int]":
    deadline = time.monotonic() + PATIENCE_S
    while True:
        facts: dict[str, int] = httpx.get(f"{url}/v1/health").json()["parts"]["archive"]["facts"]
        if facts["uploaded_segments"] and not facts["behind_segments"]:
            return facts
        assert time.monotonic() < deadline, facts
        time.sleep(0.1)


def test_a_journal_is_fetched_by_a_command(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/archive"
    with serving(tmp_path / "home", settings=settings(tmp_path)) as ns:
        assert ns.stop() == 0
    (name,) = ArchiveStore(url).nameservers()
    fetch = Process("journal", "fetch", url, "--to", str(tmp_path / "copy"))
    assert fetch.wait() == 0
    assert name in fetch.out
    assert events(tmp_path / "copy" / name) == events(tmp_path / "home" / "journal")
    unknown = Process("journal", "fetch", url, "--ns", "ns-none", "--to", str(tmp_path / "copy"))
    assert unknown.wait() == 1
    assert f"no NameServer ns-none in {url}; it has {name}" in unknown.log

"""The uploader: oldest first, each segment once, retries, conflicts, and the rest at the stop."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from routebook.archive.store import ArchiveStore
from routebook.archive.uploader import Uploader
from routebook.errors import ArchiveError
from tests.support.archived_journal import write_segments

WAIT_S = 60.0


class Recorded(ArchiveStore):
    """A folder archive that records uploads, and fails while `broken` is set."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.names: list[str] = []
        self.broken = ""
        self.changed = threading.Condition()

    def put_new(self, ns: str, name: str, file: Path) -> None:
        if self.broken:
            raise ArchiveError(self.broken)
        super().put_new(ns, name, file)
        with self.changed:
            self.names.append(name)
            self.changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.names) >= count, WAIT_S)


@pytest.fixture
def store(tmp_path: Path) -> Recorded:
    return Recorded(f"file://{tmp_path}/archive")


def uploader(store: ArchiveStore, folder: Path, log: Callable[[str], None] = lambda _: None) -> Uploader:
    return Uploader(store, folder, ns="ns-a", wall_ms=lambda: 7, log=log, first_retry_s=0.01)


def test_segments_are_uploaded_oldest_first(store: Recorded, tmp_path: Path) -> None:
    names = write_segments(tmp_path / "journal", 3)
    (tmp_path / "journal" / f"{4:020}.jsonl").write_bytes(b"")  # open: not uploaded
    running = uploader(store, tmp_path / "journal")
    running.start()
    store.wait_for(3)
    more = write_segments(tmp_path / "journal", 1, first=4)
    running.wake()
    store.wait_for(4)
    assert running.stop()
    assert store.names == [*names, *more]
    status = running.status()
    assert (status.behind_segments, status.uploaded_segments, status.last_upload_ms) == (0, 4, 7)
    assert running.is_archived(names[0])


def test_a_restart_uploads_only_what_is_missing(store: Recorded, tmp_path: Path) -> None:
    names = write_segments(tmp_path / "journal", 2)
    assert uploader(store, tmp_path / "journal").stop()
    more = write_segments(tmp_path / "journal", 1, first=3)
    again = uploader(store, tmp_path / "journal")
    again.start()
    store.wait_for(3)
    assert again.stop()
    assert store.names == [*names, *more]


def test_a_failed_upload_is_reported_once_and_repeated(store: Recorded, tmp_path: Path) -> None:
    write_segments(tmp_path / "journal", 2)
    logged: list[str] = []
    failed = threading.Event()

    def log(line: str) -> None:
        logged.append(line)
        failed.set()

    store.broken = "no connection"
    running = uploader(store, tmp_path / "journal", log)
    running.start()
    assert failed.wait(WAIT_S)
    status = running.status()
    assert (status.behind_segments, status.problem) == (2, "no connection")
    assert status.oldest_behind_ms == 1_700_000_000_001
    store.broken = ""
    store.wait_for(2)
    assert running.stop()
    assert running.status().problem is None
    assert [line.partition(":")[0] for line in logged] == ["segments are not archived", "the archive works again"]


def test_another_content_under_the_same_name_is_a_conflict(store: Recorded, tmp_path: Path) -> None:
    (name,) = write_segments(tmp_path / "journal", 1)
    store.put("ns-a", name, b"of another NameServer")
    logged: list[str] = []
    running = uploader(store, tmp_path / "journal", logged.append)
    running._archived = set()  # listed before the other NameServer wrote
    assert running.stop()
    assert running.status().conflicts == 1
    assert "two NameServers use the id" in logged[0]
    assert store.get("ns-a", name) == b"of another NameServer"


def test_a_stop_without_the_archive_returns(store: Recorded, tmp_path: Path) -> None:
    write_segments(tmp_path / "journal", 1)
    store.broken = "no connection"
    running = uploader(store, tmp_path / "journal")
    assert not running.stop()
    assert running.status().behind_segments == 1

"""Objects of an archive in a folder: create-only puts, order, errors with the place."""

from pathlib import Path

import pytest

from routebook.archive.store import AlreadyArchived, ArchiveStore, check_archive_url
from routebook.errors import ArchiveError, UsageError


@pytest.fixture
def store(tmp_path: Path) -> ArchiveStore:
    return ArchiveStore(f"file://{tmp_path}/archive/")


def test_an_object_is_written_once(store: ArchiveStore, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"first")
    store.put_new("ns-a", "1.jsonl.zst", file)
    file.write_bytes(b"other content")
    with pytest.raises(AlreadyArchived):
        store.put_new("ns-a", "1.jsonl.zst", file)
    assert store.get("ns-a", "1.jsonl.zst") == b"first"


def test_objects_are_listed_in_order_after_a_name(store: ArchiveStore, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"x")
    for name in ("3", "1", "2"):
        store.put_new("ns-a", name, file)
    store.put_new("ns-b", "9", file)
    assert [entry.name for entry in store.objects("ns-a")] == ["1", "2", "3"]
    assert [entry.name for entry in store.objects("ns-a", after="1")] == ["2", "3"]
    assert store.nameservers() == ["ns-a", "ns-b"]


def test_a_missing_object_and_a_missing_prefix(store: ArchiveStore) -> None:
    assert store.get("ns-a", "none") is None
    assert list(store.objects("ns-a")) == []


def test_a_download_is_complete_or_absent(store: ArchiveStore, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="cannot download"):
        store.download("ns-a", "none", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    store.put("ns-a", "some", b"data" * 1000)
    store.download("ns-a", "some", tmp_path / "some")
    assert (tmp_path / "some").read_bytes() == b"data" * 1000


def test_an_error_names_the_object(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = ArchiveStore(f"file://{tmp_path}/file/below")
    with pytest.raises(ArchiveError, match=r"file/below/ns-a"):
        store.put("ns-a", "1", b"x")


@pytest.mark.parametrize("url", ["", "folder", "ftp://host/x", "s3://", "file:///"])
def test_invalid_urls_are_rejected(url: str) -> None:
    with pytest.raises(UsageError, match="archive"):
        check_archive_url(url)

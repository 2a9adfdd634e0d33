"""FolderFiles on a real file system."""

import shutil
from pathlib import Path

import pytest

from routebook.journal.files import FolderFiles


def test_create_append_rename_and_remove(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path / "deep" / "journal")
    assert files.names() == []
    file = files.create("a")
    file.append(b"one")
    file.append(b"two")
    file.sync()
    file.close()
    assert files.size("a") == 6
    files.truncate("a", 4)
    files.rename("a", "b")
    with files.open("b") as reading:
        assert reading.read() == b"onet"
    assert files.names() == ["b"]
    files.remove("b")
    files.remove("b")
    assert files.names() == []


def test_create_does_not_overwrite(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    files.create("a").close()
    with pytest.raises(FileExistsError):
        files.create("a")


def test_truncate_only_shortens(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    files.create("a").close()
    with pytest.raises(FileNotFoundError):
        files.truncate("a", 5)
    assert files.size("a") == 0


def test_overwrite_keeps_the_same_file(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path / "journal")
    files.overwrite("a", b"1234")
    inode = (tmp_path / "journal" / "a").stat().st_ino
    files.overwrite("a", b"5678")
    assert (tmp_path / "journal" / "a").read_bytes() == b"5678"
    assert (tmp_path / "journal" / "a").stat().st_ino == inode


def test_sync_detects_a_removed_file(tmp_path: Path) -> None:
    file = FolderFiles(tmp_path).create("a")
    (tmp_path / "a").unlink()
    file.append(b"into nothing")
    with pytest.raises(FileNotFoundError):
        file.sync()
    file.close()


def test_sync_detects_a_replaced_file(tmp_path: Path) -> None:
    file = FolderFiles(tmp_path).create("a")
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "b").rename(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match="file was replaced"):
        file.sync()
    file.close()


def test_sync_detects_a_removed_folder_and_create_makes_a_new_one(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path / "journal")
    file = files.create("a")
    shutil.rmtree(tmp_path / "journal")
    with pytest.raises(FileNotFoundError):
        file.sync()
    file.close()
    files.create("b").close()
    assert files.names() == ["b"]


def test_subfolders_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert FolderFiles(tmp_path).names() == []

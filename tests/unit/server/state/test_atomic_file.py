"""Atomic file replacement, with a backup of the previous version."""

import os
import stat
import threading
from pathlib import Path

import pytest

from routebook.server.state.atomic_file import backup_of, remove_leftovers, write_atomically


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_new_file_has_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "kv.json"
    write_atomically(path, b"one")
    assert path.read_bytes() == b"one"
    assert names(path.parent) == {"kv.json"}


def test_the_previous_version_is_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    for content in (b"one", b"two", b"three"):
        write_atomically(path, content)
    assert path.read_bytes() == b"three"
    assert backup_of(path).read_bytes() == b"two"
    assert names(tmp_path) == {"kv.json", "kv.json.bak"}


def test_an_empty_file_is_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.touch()
    write_atomically(path, b"one")
    assert backup_of(path).read_bytes() == b""


def test_a_backup_linked_to_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(b"one")
    backup_of(path).hardlink_to(path)
    write_atomically(path, b"two")
    assert (path.read_bytes(), backup_of(path).read_bytes()) == (b"two", b"one")
    assert names(tmp_path) == {"kv.json", "kv.json.bak"}


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(b"one")
    path.chmod(0o640)
    write_atomically(path, b"two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(backup_of(path).stat().st_mode) == 0o640


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real" / "file"
    real.parent.mkdir()
    real.write_bytes(b"one")
    link = tmp_path / "link"
    link.symlink_to(real)
    write_atomically(link, b"two")
    assert link.is_symlink()
    assert real.read_bytes() == b"two"
    assert backup_of(link).read_bytes() == b"one"
    assert names(real.parent) == {"file"}


def test_a_link_to_another_file_system_is_backed_up_by_copy(tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system at /dev/shm")
    real = elsewhere / f"routebook-test-{os.getpid()}"
    link = tmp_path / "link"
    link.symlink_to(real)
    try:
        real.write_bytes(b"one")
        write_atomically(link, b"two")
        assert (real.read_bytes(), backup_of(link).read_bytes()) == (b"two", b"one")
    finally:
        real.unlink()


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(b"one")
    (tmp_path / "kv.json.bak" / "full").mkdir(parents=True)  # rename over this folder fails
    with pytest.raises(OSError, match=r"kv\.json\.bak"):
        write_atomically(path, b"two")
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == {"kv.json", "kv.json.bak"}


def test_an_error_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        write_atomically(tmp_path / "file" / "kv.json", b"one")


def test_a_concurrent_reader_always_reads_a_complete_version(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    versions = [bytes([65 + number % 26]) * 50_000 for number in range(150)]
    write_atomically(path, versions[0])
    write_atomically(path, versions[0])
    done = threading.Event()
    torn: list[bytes] = []

    def read() -> None:
        while not done.is_set():
            for file in (path, backup_of(path)):
                content = file.read_bytes()
                if content not in versions:
                    torn.append(content)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for version in versions:
            write_atomically(path, version)
    finally:
        done.set()
        reader.join()
    assert torn == []
    assert path.read_bytes() == versions[-1]


def test_only_temporary_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "kv[1].json"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    for leftover in (".kv[1].json.abc.tmp", ".kv[1].json.bak.abc.tmp"):
        (tmp_path / leftover).touch()
    (tmp_path / ".other.json.abc.tmp").touch()
    assert remove_leftovers(path) == 2
    assert names(tmp_path) == {"kv[1].json", "kv[1].json.bak", ".other.json.abc.tmp"}


def test_a_missing_folder_has_no_leftovers(tmp_path: Path) -> None:
    assert remove_leftovers(tmp_path / "none" / "kv.json") == 0

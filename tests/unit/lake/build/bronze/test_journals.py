"""Local journal folders are listed without the JVM."""

from pathlib import Path

import pytest

from routebook.errors import UsageError
from routebook.lake.build.bronze.journals import local_files


def test_files_have_path_size_and_time(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    (folder / "inner").mkdir(parents=True)
    segment = folder / "00000000000000000001.jsonl"
    segment.write_bytes(b"12345")
    (folder / "gone").symlink_to(folder / "nowhere")
    (found,) = local_files(folder / "inner" / "..")
    assert (found.path, found.size) == (f"file:{segment}", 5)
    assert found.modified_ms == segment.stat().st_mtime_ns // 1_000_000


def test_a_missing_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        local_files(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="this is a file"):
        local_files(tmp_path / "file")

"""Which inputs are small enough for the settings without code generation."""

from pathlib import Path

from routebook.lake.spark.small_data import MAX_BYTES, is_small


def test_the_files_of_all_folders_count_together(tmp_path: Path) -> None:
    first, second = tmp_path / "journal", tmp_path / "lake" / "warehouse"
    for folder in (first, second):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(bytes(MAX_BYTES // 2))
    assert is_small([first, tmp_path / "lake", tmp_path / "none"])
    (second / "more").write_bytes(b"1")
    assert not is_small([first, tmp_path / "lake"])


def test_a_remote_folder_is_not_small(tmp_path: Path) -> None:
    assert not is_small([tmp_path, None])

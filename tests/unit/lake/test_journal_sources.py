"""What `--journal` names: a folder, or an archive with one folder per NameServer."""

from pathlib import Path

from routebook.lake.config import lake_config
from routebook.lake.journal_sources import folders_of
from tests.support.archived_journal import write_segments


def test_a_journal_folder_is_itself(tmp_path: Path) -> None:
    write_segments(tmp_path / "journal", 1)
    assert folders_of(str(tmp_path / "journal"), lake_config(tmp_path)) == [str(tmp_path / "journal")]


def test_an_archive_is_the_folders_of_its_nameservers(tmp_path: Path) -> None:
    for ns in ("ns-b", "ns-a"):
        write_segments(tmp_path / "archive" / ns, 1, ns=ns)
    (tmp_path / "archive" / "other").mkdir()
    found = folders_of(str(tmp_path / "archive"), lake_config(tmp_path))
    assert found == [str(tmp_path / "archive" / ns) for ns in ("ns-a", "ns-b")]


def test_what_cannot_be_listed_is_left_to_the_build(tmp_path: Path) -> None:
    assert folders_of(str(tmp_path / "none"), lake_config(tmp_path)) == [str(tmp_path / "none")]
    assert folders_of("hdfs://host/journal", lake_config(tmp_path)) == ["hdfs://host/journal"]

"""The file of identities on disk: fails closed at the start, and a broken one later changes nothing."""

import os
from pathlib import Path

import pytest

from routebook.errors import AccessFileError
from routebook.server.access.identities_file import AccessFile
from routebook.server.observe.health import Condition

FILE = '[[identity]]\nname = "ops"\nsecret = "env:OPS_SECRET"\naccess = ["admin_write"]\n'
ENVIRON = {"OPS_SECRET": "secret-of-ops"}


def written(path: Path, text: str = FILE, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_that_is_as_it_should_be(tmp_path: Path, mode: int) -> None:
    file = AccessFile(written(tmp_path / "ids.toml", mode=mode), ENVIRON)
    assert file.identities.proves("ops", "secret-of-ops") is not None
    assert file.part().condition is Condition.OK
    assert file.reload() is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o700, 0o602])
def test_one_that_others_could_read_or_write_stops_the_start(tmp_path: Path, mode: int) -> None:
    with pytest.raises(AccessFileError, match=rf"has mode {mode:04o}.*run chmod 600"):
        AccessFile(written(tmp_path / "ids.toml", mode=mode), ENVIRON)


def test_none_or_no_file_or_no_text_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(AccessFileError, match="cannot be read: No such file"):
        AccessFile(tmp_path / "absent.toml", ENVIRON)
    with pytest.raises(AccessFileError, match="cannot be read: Is a directory"):
        AccessFile(tmp_path, ENVIRON)
    with pytest.raises(AccessFileError, match="is not a file"):
        AccessFile(Path(os.devnull), ENVIRON)
    with pytest.raises(AccessFileError, match="nobody could be let in"):
        AccessFile(written(tmp_path / "empty.toml", ""), ENVIRON)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "binary.toml").chmod(0o600)
    with pytest.raises(AccessFileError, match="is not UTF-8 text"):
        AccessFile(tmp_path / "binary.toml", ENVIRON)


def test_a_changed_file_is_taken_up(tmp_path: Path) -> None:
    path = written(tmp_path / "ids.toml")
    file = AccessFile(path, ENVIRON)
    written(path, FILE.replace("env:OPS_SECRET", "another-secret"))
    assert file.reload() == "the file of identities changed: 1 identities are in force"
    assert file.identities.proves("ops", "secret-of-ops") is None
    assert file.identities.proves("ops", "another-secret") is not None


@pytest.mark.parametrize("broken", ["syntax", "mode", "gone"])
def test_a_broken_one_leaves_all_as_it_was_and_says_so(tmp_path: Path, broken: str) -> None:
    path = written(tmp_path / "ids.toml")
    file = AccessFile(path, ENVIRON)
    if broken == "gone":
        path.unlink()
    else:
        written(path, FILE if broken == "mode" else "not TOML", 0o644 if broken == "mode" else 0o600)
    said = file.reload()
    assert said is not None
    assert "cannot be used" in said
    assert "secret-of-ops" not in said
    assert file.identities.proves("ops", "secret-of-ops") is not None
    part = file.part()
    assert part.condition is Condition.DEGRADED
    assert "stay in force" in part.says
    assert file.reload() is None  # it is said once

    written(path)
    assert file.reload() is not None
    assert file.part().condition is Condition.OK

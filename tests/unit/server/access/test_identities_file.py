"""The identities file: an invalid one prevents the start; one that becomes invalid later is ignored."""

import os
from pathlib import Path

import pytest

from routebook.errors import AccessFileError
from routebook.server.access.identities_file import IdentitiesFile
from routebook.server.observe.health import Condition

FILE = '[[identity]]\nname = "ops"\nsecret = "env:OPS_SECRET"\naccess = ["admin_write"]\n'
ENVIRON = {"OPS_SECRET": "secret-of-ops"}


def written(path: Path, text: str = FILE, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_valid_file(tmp_path: Path, mode: int) -> None:
    file = IdentitiesFile(written(tmp_path / "ids.toml", mode=mode), ENVIRON)
    assert file.identities.authenticate("ops", "secret-of-ops") is not None
    assert file.health().condition is Condition.OK
    assert file.reload() is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o700, 0o602])
def test_a_file_that_others_can_access_is_an_error(tmp_path: Path, mode: int) -> None:
    with pytest.raises(AccessFileError, match=rf"has mode {mode:04o}.*run chmod 600"):
        IdentitiesFile(written(tmp_path / "ids.toml", mode=mode), ENVIRON)


def test_a_missing_or_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AccessFileError, match=r"cannot read .*absent\.toml .*: No such file"):
        IdentitiesFile(tmp_path / "absent.toml", ENVIRON)
    with pytest.raises(AccessFileError, match=r"cannot read .*: Is a directory"):
        IdentitiesFile(tmp_path, ENVIRON)
    with pytest.raises(AccessFileError, match="is not a file"):
        IdentitiesFile(Path(os.devnull), ENVIRON)
    with pytest.raises(AccessFileError, match=": add one, or disable authentication"):
        IdentitiesFile(written(tmp_path / "empty.toml", ""), ENVIRON)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "binary.toml").chmod(0o600)
    with pytest.raises(AccessFileError, match="is not UTF-8 text"):
        IdentitiesFile(tmp_path / "binary.toml", ENVIRON)


def test_a_changed_file_is_used(tmp_path: Path) -> None:
    path = written(tmp_path / "ids.toml")
    file = IdentitiesFile(path, ENVIRON)
    written(path, FILE.replace("env:OPS_SECRET", "another-secret"))
    assert file.reload() == "the identities file changed; identities in force: 1"
    assert file.identities.authenticate("ops", "secret-of-ops") is None
    assert file.identities.authenticate("ops", "another-secret") is not None


@pytest.mark.parametrize("broken", ["syntax", "mode", "gone"])
def test_an_invalid_file_is_reported_once_and_the_previous_identities_stay(tmp_path: Path, broken: str) -> None:
    path = written(tmp_path / "ids.toml")
    file = IdentitiesFile(path, ENVIRON)
    if broken == "gone":
        path.unlink()
    else:
        written(path, FILE if broken == "mode" else "not TOML", 0o644 if broken == "mode" else 0o600)
    message = file.reload()
    assert message is not None
    assert "is invalid" in message
    assert "secret-of-ops" not in message
    assert file.identities.authenticate("ops", "secret-of-ops") is not None
    part = file.health()
    assert part.condition is Condition.DEGRADED
    assert "stay in force" in part.says
    assert file.reload() is None

    written(path)
    assert file.reload() is not None
    assert file.health().condition is Condition.OK

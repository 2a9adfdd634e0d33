"""The home folder: creation, lock, identity, and error messages."""

import os
import re
import stat
from pathlib import Path

import pytest

from routebook.errors import HomeError
from routebook.server.state.home import Home, default_home


def test_a_missing_folder_is_created_for_its_owner_only(tmp_path: Path) -> None:
    with Home.open(tmp_path / "a" / "home") as home:
        assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
        assert re.fullmatch(r"ns-[0-9a-f]{12}", home.ns)


def test_the_id_is_stable(tmp_path: Path) -> None:
    with Home.open(tmp_path) as first:
        pass
    with Home.open(tmp_path) as second:
        assert second.ns == first.ns
    with Home.open(tmp_path / "other") as other:
        assert other.ns != first.ns


def test_a_second_process_is_rejected_with_the_pid_of_the_first(tmp_path: Path) -> None:
    with Home.open(tmp_path):
        message = rf"home folder {tmp_path} is in use by process {os.getpid()} since \d{{4}}-.*Z; .*--home"
        with pytest.raises(HomeError, match=message):
            Home.open(tmp_path)
    with Home.open(tmp_path) as again:
        assert (again.path / "lock").read_text().startswith(f"{os.getpid()} ")


def test_a_rejected_process_leaves_the_lock_file_unchanged(tmp_path: Path) -> None:
    with Home.open(tmp_path):
        before = (tmp_path / "lock").read_text()
        for _ in range(2):
            with pytest.raises(HomeError):
                Home.open(tmp_path)
        assert (tmp_path / "lock").read_text() == before


def test_closing_twice_is_fine(tmp_path: Path) -> None:
    home = Home.open(tmp_path)
    home.close()
    home.close()


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"ns":""}', b'{"ns":5}', b"[]", b'{"ns":"\xff"}'])
def test_an_unreadable_identity_stops_the_start(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "identity.json").write_bytes(content)
    with pytest.raises(HomeError, match=r"cannot read .*identity\.json: .*remove it"):
        Home.open(tmp_path)
    (tmp_path / "identity.json").write_bytes(b'{"ns":"ns-mine","more":1}')
    with Home.open(tmp_path) as home:  # the lock was released
        assert home.ns == "ns-mine"


def test_a_file_is_not_a_home(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeError, match="file is not a folder"):
        Home.open(tmp_path / "file")
    with pytest.raises(HomeError, match=r"cannot create home folder .*: Not a directory; pass another with --home"):
        Home.open(tmp_path / "file" / "home")


@pytest.mark.parametrize("name", ["lock", "identity.json"])
def test_a_folder_in_place_of_a_file_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(HomeError, match=f"{re.escape(name)}.*: Is a directory; make it"):
        Home.open(tmp_path)


def test_the_default_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_home({}) == tmp_path / ".routebook"
    assert default_home({"ROUTEBOOK_HOME": ""}) == tmp_path / ".routebook"
    assert default_home({"ROUTEBOOK_HOME": "~/x"}) == tmp_path / "x"
    assert default_home({"ROUTEBOOK_HOME": "/y"}) == Path("/y")

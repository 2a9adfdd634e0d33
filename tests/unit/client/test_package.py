"""The package: everything it offers is there, and what a look-up does not need is not loaded for it."""

import subprocess
import sys

import pytest

import routebook.client


@pytest.mark.parametrize("name", routebook.client.__all__)
def test_what_is_offered_is_there(name: str) -> None:
    assert getattr(routebook.client, name).__name__ == name


def test_what_is_not_offered_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = routebook.client.Nothing


def test_a_look_up_loads_no_more_than_it_needs() -> None:
    look = "import sys; from routebook.client import NameServerClient; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"cryptography", "uvloop", "typer", "rich"}
    unused = {f"routebook.client.{part}" for part in ("queues", "watcher", "tls", "registration")}
    core = {"routebook.handlers", "routebook.routes", "routebook.server", "routebook.settings", "routebook.properties"}
    assert not (heavy | unused | core) & {*loaded}

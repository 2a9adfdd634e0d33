"""The systemd unit: limits, watchdog, and no public port without identities."""

import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "routebook.service"


def lines() -> list[str]:
    return [line for line in UNIT.read_text().splitlines() if line and not line.startswith("#")]


def test_memory_and_the_event_loop_are_watched() -> None:
    unit = dict(line.split("=", 1) for line in lines() if "=" in line)
    assert unit["Type"] == "notify"
    assert int(unit["WatchdogSec"]) > 0
    assert unit["MemoryMax"].endswith("G")


def test_a_public_port_needs_identities() -> None:
    unit = lines()
    assert "Environment=ROUTEBOOK_LISTEN=0.0.0.0:9876" in unit
    assert "AssertPathExists=/etc/routebook/identities.toml" in unit
    assert "LoadCredential=identities.toml:/etc/routebook/identities.toml" in unit
    assert "Environment=ROUTEBOOK_AUTH_FILE=%d/identities.toml" in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_it() -> None:
    ran = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True, check=False)
    assert "Unknown" not in ran.stderr

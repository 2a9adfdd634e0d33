"""CI repeats a failed test of a third-party program once and lists it as FLAKY; all other failures count at once."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PLUGINS: Final = ("-p", "no:cacheprovider", "-p", "xdist.plugin", "-p", "pytest_rerunfailures")
CONFTEST: Final = """
from tests.support.retries import allow_one_repetition, pytest_terminal_summary

def pytest_collection_modifyitems(items):
    allow_one_repetition(items)
"""
TESTS: Final = """
import pytest
from pathlib import Path

def attempt(name):
    path = Path(__file__).parent / name
    path.write_text((path.read_text() if path.exists() else "") + "x")
    return len(path.read_text())

@pytest.mark.program("Go SDK", "2", "round trip")
def test_program_that_fails_once():
    assert attempt("program") == 2

@pytest.mark.third_party
def test_broker_that_fails_always():
    attempt("broker")
    raise AssertionError("the broker is broken")

def test_of_our_own_code():
    assert attempt("own") == 2
"""


def run_pytest(folder: Path, *arguments: str, ci: bool) -> str:
    """The output of pytest in a process of its own."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    program: x\n    third_party: x\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "CI": "true" if ci else "",
        "FLAKY_REPORT": str(folder / "flaky.txt"),
    }
    command = [sys.executable, "-m", "pytest", *PLUGINS, "--rootdir", str(folder), str(folder)]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def attempts(folder: Path) -> dict[str, int]:
    return {name: len((folder / name).read_text()) for name in ("program", "broker", "own")}


@pytest.mark.parametrize("processes", [0, 2])
def test_ci_repeats_third_party_programs_once_and_lists_them(tmp_path: Path, processes: int) -> None:
    output = run_pytest(tmp_path, "-n", str(processes), ci=True)
    assert attempts(tmp_path) == {"program": 2, "broker": 2, "own": 1}
    assert "2 failed, 1 passed, 2 rerun" in output
    names = ["FLAKY test_it.py::test_broker_that_fails_always", "FLAKY test_it.py::test_program_that_fails_once"]
    assert [line for line in output.splitlines() if line.startswith("FLAKY")] == names
    assert (tmp_path / "flaky.txt").read_text().splitlines() == names


def test_nothing_is_repeated_outside_ci(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, ci=False)
    assert attempts(tmp_path) == {"program": 1, "broker": 1, "own": 1}
    assert "3 failed" in output
    assert "FLAKY" not in output
    assert not (tmp_path / "flaky.txt").exists()

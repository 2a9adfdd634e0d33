"""Without a JDK or Maven, tests are skipped with a reason and listed in the summary; with CI=true they fail."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
CONFTEST: Final = "from tests.support.missing_tools import pytest_runtest_setup, pytest_terminal_summary\n"
TESTS: Final = """
import pytest

@pytest.mark.java
def test_against_java():
    raise AssertionError("must not run without Java")

def test_without_java():
    pass
"""


def run_pytest(folder: Path, *, ci: bool, path: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a separate process with this PATH."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = java: needs Java\n")
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "ROUTEBOOK_TEST_CACHE": str(folder / "cache"),
        "CI": "true" if ci else "",
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


def test_without_the_tools_java_tests_are_skipped_and_listed_with_instructions(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, ci=False, path=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout
    assert "not run: a tool is missing" in done.stdout
    assert "needs java and mvn, not found: 1 not run" in done.stdout
    assert "test_it.py::test_against_java" in done.stdout
    assert "java: a JDK 17" in done.stdout
    assert "mvn: Maven 3.6" in done.stdout


def test_under_ci_a_missing_tool_is_a_failure(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, ci=True, path=str(tmp_path))
    assert done.returncode == 1, done.stdout
    assert "1 passed, 1 error" in done.stdout
    assert "needs java and mvn, not found (CI=true: a missing tool is a failure)" in done.stdout


@pytest.mark.parametrize("ci", [False, True])
def test_with_the_tools_java_tests_run(tmp_path: Path, ci: bool) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("java", "mvn"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
    done = run_pytest(tmp_path, ci=ci, path=str(tools))
    assert "must not run without Java" in done.stdout
    assert "not run: a tool is missing" not in done.stdout

"""CI repeats a failed test of a third-party program once, and the end of the run lists each repetition as FLAKY.

The functions named `pytest_…` are hooks; tests/conftest.py registers them.
"""

import os
from pathlib import Path
from typing import Final

import pytest

MARKERS: Final = ("program", "third_party")
REPORT: Final = "FLAKY_REPORT"
"""Environment variable: a file to which the names are appended, so that CI can list those of several runs."""


def is_repeatable(item: pytest.Item) -> bool:
    """Whether a test drives a program that Routebook does not control: a broker, mqadmin, an SDK."""
    return any(item.get_closest_marker(name) for name in MARKERS)


def allow_one_repetition(items: list[pytest.Item]) -> None:
    """Under CI=true only: elsewhere a failure is shown as it is."""
    if os.environ.get("CI", "").lower() == "true":
        for item in items:
            if is_repeatable(item):
                item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that ran more than once."""
    names = sorted({report.nodeid for report in terminalreporter.stats.get("rerun", [])})
    if not names or hasattr(terminalreporter.config, "workerinput"):  # the main process reports for its workers
        return
    terminalreporter.section("repeated: failed at the first attempt", yellow=True)
    for name in names:
        terminalreporter.line(f"FLAKY {name}")
    if path := os.environ.get(REPORT):
        with Path(path).open("a") as report:
            report.writelines(f"FLAKY {name}\n" for name in names)

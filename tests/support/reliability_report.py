"""Collects figures of the reliability suites (fuzz, attacks, chaos) as JSON lines, for docs/reliability.md."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest

OPTION: Final = "--reliability-report"


class ReliabilityReport:
    """Appends rows to the file of `--reliability-report`, and prints them to the output of the test."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def add(self, suite: str, what: str, **figures: float | str) -> None:
        """Add a row: the suite, the subject, and its figures."""
        line = json.dumps({"suite": suite, "what": what, **figures})
        sys.stdout.write(line + "\n")  # pytest shows it with -s and for a failed test
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(line + "\n")


@pytest.fixture(scope="session")
def reliability_report(pytestconfig: pytest.Config) -> ReliabilityReport:
    path = pytestconfig.getoption(OPTION)
    return ReliabilityReport(None if path is None else Path(path))

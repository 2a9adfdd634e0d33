"""Writes down what the suites about reliability saw: a line of JSON for each figure, for docs/reliability.md."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest

OPTION: Final = "--reliability-report"


class Ledger:
    """Figures go to the file that `--reliability-report` names, and to the test's own output."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def note(self, suite: str, what: str, **figures: float | str) -> None:
        """One row: in which suite, about what, and what was counted."""
        line = json.dumps({"suite": suite, "what": what, **figures})
        sys.stdout.write(line + "\n")  # shown with -s, and with a test that fails
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(line + "\n")


@pytest.fixture(scope="session")
def ledger(pytestconfig: pytest.Config) -> Ledger:
    """For tests that see figures."""
    path = pytestconfig.getoption(OPTION)
    return Ledger(None if path is None else Path(path))

"""What all tests share: options, and hooks that make a missing tool loud."""

import pytest
from tests.support.missing_tools import pytest_runtest_setup, pytest_terminal_summary

__all__ = ["pytest_addoption", "pytest_runtest_setup", "pytest_terminal_summary"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The differential test's own options."""
    group = parser.getgroup("differential", "Routebook beside the Java NameServer")
    group.addoption(
        "--differential-seed", type=int, default=None, help="repeat the run with this seed (default: random)"
    )
    group.addoption("--differential-ops", type=int, default=3000, help="how many random operations (default: 3000)")

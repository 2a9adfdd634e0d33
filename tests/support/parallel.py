"""Distributes test files over the worker processes of pytest-xdist: shared resources together, long files first.

The functions named `pytest_…` are hooks; tests/conftest.py registers them.
"""

from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

GROUPS: Final = {"tests/lake/": "spark"}  # one JVM with Spark per process
"""Folders whose files share an expensive resource run in one process. Any other file runs as a unit in any process."""

LONGEST_FIRST: Final = (
    "tests/lake/",
    "tests/interop/programs/test_brokers.py",
    "tests/interop/programs/test_mqadmin.py",
    "tests/interop/",
    "tests/console/test_console_browser.py",
    "tests/chaos/",
    "tests/property/",
    "tests/console/",
    "tests/e2e/",
)
"""A long file that starts last leaves the other processes without work."""


def group_of(nodeid: str) -> str:
    """The unit of distribution that a test belongs to: a shared resource, or its file."""
    path = nodeid.partition("::")[0]
    return next((group for folder, group in GROUPS.items() if path.startswith(folder)), path)


def start_rank(nodeid: str) -> int:
    """Tests with a lower rank start earlier."""
    return next((rank for rank, part in enumerate(LONGEST_FIRST) if nodeid.startswith(part)), len(LONGEST_FIRST))


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each group as a whole to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    config.option.loadscopereorder = False  # the order of collection counts, not the number of tests
    return GroupScheduling(config, log)


def sort_by_start(items: list[pytest.Item]) -> None:
    """Move long files to the front. The random order within them stays."""
    items.sort(key=lambda item: start_rank(item.nodeid))

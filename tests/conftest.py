"""What all tests share: options, and hooks that make a missing tool loud."""

import os
import random

import pytest

from tests.support.missing_tools import pytest_runtest_setup, pytest_terminal_summary

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_runtest_setup",
    "pytest_terminal_summary",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of single tests: the differential one's, the soak's, the console's, fuzz, attacks, chaos."""
    group = parser.getgroup("differential", "Routebook beside the Java NameServer")
    group.addoption(
        "--differential-seed", type=int, help="this seed (default: a random one, under CI=true always the same)"
    )
    group.addoption("--differential-ops", type=int, default=3000, help="how many random operations (default: 3000)")
    parser.addoption("--lake-all", action="store_true", help="also run the lake's tests that take minutes")
    parser.addoption("--programs", action="store_true", help="also run the tests with real programs of others")
    parser.addoption("--programs-report", metavar="FILE", help="write down what they showed, as JSON")
    parser.addoption(
        "--rust-sdk", action="store_true", help="build the Rust SDK if it is not yet (15 minutes and more)"
    )
    parser.addoption("--screenshots", help="keep pictures of the console's pages in this folder")
    parser.addoption(
        "--attack-scale", type=float, default=1.0, help="how much more than usual attacks send (make fuzz: 20)"
    )
    parser.addoption("--chaos-seconds", type=float, default=45.0, help="how long faults are injected (default: 45)")
    parser.addoption("--chaos-seed", type=int, default=10, help="which faults, and when (default: 10)")
    parser.addoption("--fuzz-seconds", type=float, default=18.0, help="how long all corpora are changed (default: 18)")
    parser.addoption("--fuzz-seed", type=int, default=10, help="how they are changed (default: 10)")
    parser.addoption(
        "--reliability-report", metavar="FILE", help="append what fuzz, attacks and chaos saw, as JSON lines"
    )
    parser.addoption("--soak-seconds", type=float, default=12.0, help="how long the soak test lasts (default: 12)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes many minutes has a target of its own: real programs `make interop`, all of the lake `make lake`."""
    wanted = {"program": config.option.programs, "lake_long": config.option.lake_all}
    left = [item for item in items if all(wanted[name] or not item.get_closest_marker(name) for name in wanted)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left


def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed here, so that the head of the report shows it and all worker processes have the same."""
    if config.option.differential_seed is None:
        # CI judges a change, so it plays the same every time; everybody else's run looks somewhere new
        in_ci = os.environ.get("CI") == "true"
        config.option.differential_seed = 104 if in_ci else random.SystemRandom().randrange(1 << 32)


def pytest_report_header(config: pytest.Config) -> str:
    return f"differential: --differential-seed={config.option.differential_seed}"

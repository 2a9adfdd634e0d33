"""Options of single tests, and hooks for all: choice of tests, missing tools, distribution over processes, retries."""

import os
import random
import signal

import pytest

from tests.support import missing_tools, parallel, retries

IN_CI = os.environ.get("CI", "").lower() == "true"
CI_SEED = 104


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("differential", "Routebook beside the Java NameServer")
    group.addoption(
        "--differential-seed", type=int, help="seed of the operations (default: random; with CI=true always the same)"
    )
    group.addoption("--differential-ops", type=int, default=3000, help="number of random operations (default: 3000)")
    group.addoption("--mutated-frames", type=int, default=300, help="mutated frames of each kind (default: 300)")
    parser.addoption("--lake-all", action="store_true", help="also run the tests of the lake that take minutes")
    parser.addoption("--programs", action="store_true", help="also run the tests with real third-party programs")
    parser.addoption("--programs-report", metavar="FILE", help="write the results of these tests as JSON")
    parser.addoption("--rust-sdk", action="store_true", help="build the Rust SDK if necessary (15 minutes or more)")
    parser.addoption("--screenshots", help="folder for screenshots of the console's pages")
    parser.addoption("--attack-scale", type=float, default=1.0, help="factor for the size of attacks (make fuzz: 20)")
    parser.addoption("--attack-seconds", type=float, default=10.0, help="duration of all attacks at once (default: 10)")
    parser.addoption("--chaos-seconds", type=float, default=45.0, help="duration of the fault injection (default: 45)")
    parser.addoption("--chaos-seed", type=int, default=10, help="seed of the faults and their times (default: 10)")
    parser.addoption("--controller-rounds", type=int, default=4, help="rounds of faults for controllers (default: 4)")
    parser.addoption("--controller-plant", default="", help="a defect of controllers: `no fencing` or `stale reads`")
    parser.addoption("--fuzz-seconds", type=float, default=18.0, help="duration of all fuzz targets (default: 18)")
    parser.addoption("--fuzz-inputs", type=int, help="number of inputs of all fuzz targets, instead of the duration")
    parser.addoption("--kv-kills", type=int, default=300, help="kill -9 of writers of the KV file (default: 300)")
    parser.addoption("--fuzz-seed", type=int, default=10, help="seed of the mutations (default: 10)")
    parser.addoption(
        "--reliability-report", metavar="FILE", help="append the figures of fuzz, attacks and chaos as JSON lines"
    )
    parser.addoption("--soak-seconds", type=float, default=12.0, help="duration of the soak test (default: 12)")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job; servers would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for plugin in (missing_tools, parallel, retries):
        config.pluginmanager.register(plugin)
    if config.option.differential_seed is None:
        # Chosen here, so that the header of the report shows it and all worker processes use the same one. CI decides
        # about a change, so its seed is fixed; other runs search in new places.
        config.option.differential_seed = CI_SEED if IN_CI else random.SystemRandom().randrange(1 << 32)


def pytest_report_header(config: pytest.Config) -> str:
    return f"differential: --differential-seed={config.option.differential_seed}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what has a target of its own (`make interop`, `make lake`), then order the rest."""
    wanted = {"program": config.option.programs, "lake_long": config.option.lake_all}
    selected = [item for item in items if all(wanted[name] or not item.get_closest_marker(name) for name in wanted)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(selected)])
    items[:] = selected
    parallel.sort_by_start(items)
    retries.allow_one_repetition(items)

"""The pytest plugin: the example of docs/testing.md runs, and an unused plugin imports nothing."""

import sys
import time
import tomllib
from pathlib import Path

import pytest

from routebook.testing import LocalNameServer

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "test_orders.py"
PAGE = ROOT / "docs" / "testing.md"
PLUGIN = "routebook.testing.plugin"


ARGUMENTS = ("-q", "-W", "error", "-p", "no:cacheprovider", "-p", PLUGIN)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside these tests load only this plugin."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_pytest_finds_the_plugin_once_routebook_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"routebook": PLUGIN}


def test_the_example_of_the_page_is_the_file_that_runs() -> None:
    assert f"```python\n{EXAMPLE.read_text()}```" in PAGE.read_text()


def test_the_example_runs(pytester: pytest.Pytester) -> None:
    source = EXAMPLE.read_text()
    pytester.makepyfile(test_orders=source)
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=source.count("\ndef test_"))


def test_fixtures_work_in_tests_that_are_coroutines(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio

        def test_it(nameserver, fake_broker):
            async def look():
                fake_broker(topics=["orders"])
                async with nameserver.client() as client:
                    return await client.topics()
            assert "orders" in asyncio.run(look())
        """
    )
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=1)


def test_nothing_is_imported_until_a_fixture_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_before():
            loaded = {name for name in sys.modules if name.startswith("routebook")}
            assert loaded <= {"routebook", "routebook.testing", "routebook.testing.plugin"}

        def test_with(nameserver):
            assert "routebook.server.server" in sys.modules
        """
    )
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=2)


def test_a_failing_test_leaves_nothing_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading

        def test_fails(nameserver, fake_broker):
            fake_broker()
            assert False

        def test_after():
            left = [thread.name for thread in threading.enumerate()]
            assert left == ["MainThread"]
        """
    )
    pytester.runpytest_subprocess(*ARGUMENTS).assert_outcomes(passed=1, failed=1)


def test_print_the_start_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: the machine may be busy."""
    for what in ("first", "second"):
        began = time.perf_counter()
        with LocalNameServer() as nameserver:
            ready_ms = (time.perf_counter() - began) * 1000
            assert nameserver.topics() == []
        with capsys.disabled():
            sys.stdout.write(f"\n{what} NameServer ready after {ready_ms:.1f} ms\n")

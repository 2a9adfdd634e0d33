"""Skips tests whose tools are missing and lists them in the summary; with CI=true a missing tool is a failure.

The functions named `pytest_…` are hooks; tests/conftest.py registers them.
"""

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.support.java import jars_present

HOW_TO_GET: Final = {
    "java": "a JDK 17 or newer: `apt install openjdk-17-jdk`, `brew install openjdk@17`, or https://adoptium.net",
    "javac": "a JDK, as for java; a JRE has no compiler",
    "mvn": "Maven 3.6 or newer: `apt install maven`, `brew install maven`, or https://maven.apache.org",
    "chromium": "`apt install chromium`, or `make tools` as root",
    "axe": "`npm ci` in console/, or `make tools`",
    "promtool": "`apt install prometheus`, or `make tools`",
    "etcd": "`apt install etcd-server`, or `make tools`",
    "postgres": "`apt install postgresql`, or `make tools`",
    "systemd-analyze": "`apt install systemd`",
}
NEEDS: Final = "needs "  # the reason of such a skip starts with this


def require_tool(name: str, *, path: Path | str | None = None) -> None:
    """Skip the test without the tool; with CI=true, fail. The tool is a file at `path`, or a program on the PATH."""
    if not (shutil.which(name) if path is None else Path(path).exists()):
        _skip_or_fail([name])


def missing_java_tools() -> list[str]:
    """The missing tools of tests marked `java`. Maven downloads the jars; it is not needed afterwards."""
    wanted = ["java"] if jars_present() else ["java", "mvn"]
    return [tool for tool in wanted if shutil.which(tool) is None]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a `java` test without its tools; with CI=true, fail."""
    if item.get_closest_marker("java") is not None and (missing := missing_java_tools()):
        _skip_or_fail(missing)


def _skip_or_fail(tools: list[str]) -> None:
    reason = f"{NEEDS}{' and '.join(tools)}, not found"
    if os.environ.get("CI", "").lower() == "true":
        how = "; ".join(f"{tool}: {HOW_TO_GET[tool]}" for tool in tools)
        pytest.fail(f"{reason} (CI=true: a missing tool is a failure). {how}", pytrace=False)
    pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the skipped tests, and how to install their tools."""
    untested: dict[str, list[str]] = {}
    for report in terminalreporter.getreports("skipped"):
        if isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            if reason.startswith(NEEDS):
                untested.setdefault(reason, []).append(report.nodeid)
    if not untested:
        return
    terminalreporter.section("not run: a tool is missing", yellow=True)
    for reason, nodes in untested.items():
        terminalreporter.line(f"{reason}: {len(nodes)} not run")
        for node in nodes:
            terminalreporter.line(f"  {node}")
    words = {word.strip(",") for reason in untested for word in reason.split()}
    for tool in HOW_TO_GET:
        if tool in words:
            terminalreporter.line(f"{tool}: {HOW_TO_GET[tool]}")

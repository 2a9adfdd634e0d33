"""The files in deploy/ match this server: existing metrics, alerts that fire, a valid systemd unit."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.missing_tools import require_tool
from tests.support.process import serving
from tests.support.remoting import Client, register, route

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
RULES: Final = DEPLOY / "prometheus" / "routebook.rules.yml"
FETCHED: Final = DEPLOY.parent / ".cache" / "prometheus" / "usr" / "bin"
OURS: Final = re.compile(r"\b(?:routebook|process)_[a-z0-9_]+")
LABELS: Final = re.compile(r"(\w+)=~?\"([^\"]*)\"|by \(([^)]*)\)")


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The metrics of a running server with their labels."""
    home = tmp_path_factory.mktemp("home")
    with serving(home, http="127.0.0.1:0") as ns, Client(ns.address) as client:
        url = ns.wait_until_http()
        assert client.ask(register()).code == 0
        assert client.ask(route("TopicTest")).code == 0
        httpx.get(f"{url}/healthz")
        text = httpx.get(f"{url}/metrics").text
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def alerts() -> list[dict[str, Any]]:
    (group,) = msgspec.yaml.decode(RULES.read_bytes())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def expressions() -> Iterator[str]:
    for rule in alerts():
        yield rule["expr"]
    dashboard = json.loads((DEPLOY / "grafana" / "routebook.json").read_text())
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (variable["query"]["query"] for variable in dashboard["templating"]["list"][1:])
    yield from (annotation["expr"] for annotation in dashboard["annotations"]["list"])


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_every_query_uses_existing_metrics(expression: str, exposed: dict[str, set[str]]) -> None:
    names = set(OURS.findall(expression)) - {"routebook_"}
    assert names or expression.startswith("up{")
    for name in names:
        assert name in exposed, f"{name} is not among {sorted(exposed)}"
    known = {"instance", "job", *(label for name in names for label in exposed[name])}
    for label, _, by in LABELS.findall(expression):
        assert {*filter(None, [label]), *filter(None, by.replace(" ", "").split(","))} <= known


def test_every_metric_is_documented(exposed: dict[str, set[str]]) -> None:
    page = (DEPLOY.parent / "docs" / "http.md").read_text()
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in exposed if name.startswith("routebook_")}
    assert not [name for name in sorted(families) if f"`{name}`" not in page]


def test_alerts_have_a_summary_and_an_action() -> None:
    for rule in alerts():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["action"]


def run(*command: str) -> None:
    tool = shutil.which(command[0], path=f"{os.environ['PATH']}{os.pathsep}{FETCHED}")
    if tool is None:
        require_tool(command[0])
    assert tool is not None
    whole = [tool, *command[1:]]
    ran = subprocess.run(whole, check=False, capture_output=True, text=True, timeout=60, cwd=RULES.parent)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "warning" not in (ran.stdout + ran.stderr).lower()


def test_prometheus_accepts_the_rules() -> None:
    run("promtool", "check", "rules", RULES.name)


def test_alerts_fire_as_specified() -> None:
    run("promtool", "test", "rules", "routebook.rules.test.yml")


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "routebook.service").read_text()
    assert "ExecStart=/opt/routebook/bin/routebook serve\n" in unit
    there = shutil.which("true")
    assert there is not None
    (tmp_path / "routebook.service").write_text(unit.replace("/opt/routebook/bin/routebook", there))
    run("systemd-analyze", "verify", str(tmp_path / "routebook.service"))

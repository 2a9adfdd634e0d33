"""The container recipe and compose.yaml use settings, ports and paths that exist."""

import re
from pathlib import Path
from typing import Any

import msgspec

from routebook.settings.table import SETTINGS

ROOT = Path(__file__).parents[2]
CONTAINER = (ROOT / "deploy" / "container" / "Containerfile").read_text()
CHART = ROOT / "deploy" / "helm" / "routebook"


def variables() -> set[str]:
    return {setting.env for setting in SETTINGS} | {"ROUTEBOOK_HOME", "ROUTEBOOK_LISTEN"}


def compose() -> Any:
    return msgspec.yaml.decode((ROOT / "deploy" / "compose.yaml").read_bytes())


def test_variables_of_the_container_are_settings() -> None:
    named = set(re.findall(r"\b(ROUTEBOOK_[A-Z_]+)=", CONTAINER))
    assert named
    assert named <= variables()


def test_copied_files_exist_and_are_not_ignored() -> None:
    ignored = (ROOT / ".containerignore").read_text()
    assert ignored == (ROOT / ".dockerignore").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINER, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists()
            assert f"!{name}\n" in ignored


def test_compose_uses_the_recipe_and_known_variables() -> None:
    services = compose()["services"]
    for name in ("ns1", "ns2"):
        assert (ROOT / "deploy" / services[name]["build"]["context"] / services[name]["build"]["dockerfile"]).exists()
        assert set(services[name]["environment"]) <= variables()
        assert services[name]["read_only"] is True
    assert services["broker"]["command"][-1] == "ns1:9876;ns2:9876"


def test_the_chart_names_existing_variables_and_values() -> None:
    templates = "".join(file.read_text() for file in (CHART / "templates").iterdir())
    assert set(re.findall(r"name: (ROUTEBOOK_[A-Z_]+)", templates)) <= variables()
    values = msgspec.yaml.decode((CHART / "values.yaml").read_bytes())
    for path in set(re.findall(r"\.Values\.([A-Za-z.]+)", templates)):
        found: Any = values
        for word in path.split("."):
            assert word in found, f"values.yaml has no {path}"
            found = found[word]

"""Supply chain: documented dependencies, a correct bill of materials, reproducible wheels."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools.sbom import installed, sbom

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEMPLATES = ("style.css", "templates/macros.html.j2", "templates/page.html.j2")
PACKED = ("src", "README.md", "LICENSE", "pyproject.toml")


def names(requirements: list[str]) -> set[str]:
    return {Requirement(text).name for text in requirements}


def test_every_dependency_is_documented() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE)
    explained = {name.strip() for row in rows[1:] for name in row.split(",")}
    wanted = names(PROJECT["dependencies"])
    for extra in PROJECT["optional-dependencies"].values():
        wanted |= names(extra)
    assert wanted <= explained, f"docs/dependencies.md has no reason for: {sorted(wanted - explained)}"
    assert explained <= wanted | {"package", "---"}, f"not a dependency: {sorted(explained - wanted)}"


def test_bill_of_materials() -> None:
    bill = sbom()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["name"] == "routebook"
    listed = {component["name"] for component in bill["components"]}
    needed = [Requirement(text) for text in metadata.requires("routebook") or ()]
    assert {required.name for required in needed if "extra" not in str(required.marker)} <= listed
    assert not listed & {"pytest", "pyspark", "mypy"}
    references = {component["bom-ref"] for component in [*bill["components"], bill["metadata"]["component"]]}
    for row in bill["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= references
    text = json.dumps(bill)
    assert "://" not in text, "it contains an address"
    assert str(ROOT) not in text
    assert text == json.dumps(sbom())
    assert "pytest" in installed(["dev"])


def test_bill_of_materials_as_a_command() -> None:
    command = [sys.executable, str(ROOT / "tools" / "sbom.py")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert json.loads(done.stdout)["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"


@pytest.mark.slow
def test_two_builds_of_a_wheel_are_identical(tmp_path: Path) -> None:
    """From two copies, with different file times, folders and umasks."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    if importlib.util.find_spec("hatchling") is None:
        tools = tmp_path / "tools"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(tools)]
        subprocess.run([*pip, "hatchling"], check=True, timeout=300)
        environment["PYTHONPATH"] = str(tools)
    digests = set()
    for number, umask in enumerate((0o022, 0o077)):
        folder = tmp_path / f"copy-{number}"
        folder.mkdir()
        for name in PACKED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source,
                    folder / name,
                    ignore=shutil.ignore_patterns("__pycache__"),
                    copy_function=shutil.copyfile,
                )
            else:
                shutil.copyfile(source, folder / name)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
        subprocess.run(build, cwd=folder, env=environment, check=True, capture_output=True, umask=umask, timeout=300)
        (wheel,) = (folder / "dist").iterdir()
        packed = set(zipfile.ZipFile(wheel).namelist())
        assert {f"routebook/lake/reports/html/{name}" for name in TEMPLATES} <= packed
        digests.add((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()))
    assert len(digests) == 1

"""Links in the documents work, named files and tests exist, and no page names a machine or registry."""

import re
import subprocess
from pathlib import Path

import pytest

from routebook.handlers import HANDLERS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "routebook"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_in_code_marks_exist(page: Path) -> None:
    for path in re.findall(
        r"`((?:src|tests|docs|benchmarks|deploy|tools|examples|console)/[\w./-]+)`", page.read_text()
    ):
        if "NAME" not in path:  # a placeholder in a how-to guide
            assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_files_named_in_the_architecture_exist() -> None:
    """Paths there are relative to src/routebook, or to console/ at the root."""
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|ts))`", (ROOT / "ARCHITECTURE.md").read_text()))
    assert len(named) > 60
    missing = [path for path in named if not (SOURCE / path).exists() and not (ROOT / path).exists()]
    assert missing == []


def test_counterparts_of_java_tests_exist() -> None:
    """Each test that the table in docs/compatibility.md names exists."""
    page = (ROOT / "docs" / "compatibility.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", page)
    assert len(named) > 60
    for path, name in named:
        assert re.search(rf"def {name}\b", (ROOT / path).read_text()), f"{path} has no {name}"


def test_every_request_is_handled() -> None:
    codes = {100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327}
    assert set(HANDLERS) == codes | {901, 904}


def test_nothing_names_a_machine_or_a_registry() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # split, so that this file does not contain them
    forbidden = re.compile(
        "|".join(["/wo" + "rk/", "/tmp/te" + "am", "files.python" + "hosted", "repo.maven" + ".apache"])
    )
    for name in tracked.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".toml", ".txt", ".xml", ".json", ".yml", ".java", ""}:
            found = forbidden.search(path.read_text(errors="replace"))
            assert found is None, f"{name} says {found}"

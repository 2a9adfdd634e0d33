"""The layout: unit tests mirror the source, CONTRIBUTING lists the folders, modules and folders stay small."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "routebook"
TESTS: Final = ROOT / "tests"
UNIT: Final = TESTS / "unit"
MAX_LINES: Final = 350
MAX_MODULES: Final = 20


def has_counterpart(test: Path) -> bool:
    """Whether a/test_b.py (or a/test_b_aspect.py) tests a/b.py, the package a/b, or the package a itself."""
    folder, name = SOURCE / test.parent, test.stem.removeprefix("test_")
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    modules |= {folder.name} if (folder / "__init__.py").is_file() else set()
    return any(name == module or name.startswith(f"{module}_") for module in modules)


def folders_with_python(top: Path) -> set[str]:
    return {path.parent.relative_to(ROOT).as_posix() for path in top.rglob("*.py")}


def documented_folders() -> set[str]:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    return set(re.findall(r"^\| `((?:src|tests)(?:/[\w/]+)?)` \|", page, re.MULTILINE))


def test_unit_tests_mirror_the_source() -> None:
    tests = [path.relative_to(UNIT) for path in UNIT.rglob("test_*.py")]
    assert [test.as_posix() for test in tests if not has_counterpart(test)] == []


def test_contributing_lists_every_folder_of_the_source() -> None:
    listed = {folder for folder in documented_folders() if folder.startswith("src/")}
    assert listed == folders_with_python(SOURCE)


def test_contributing_lists_every_folder_of_the_tests() -> None:
    listed = {folder for folder in documented_folders() if folder.startswith("tests/")}
    top = {path.relative_to(ROOT).as_posix() for path in TESTS.iterdir() if path.is_dir() and path.name[0] not in "._"}
    assert listed >= top, f"not listed: {sorted(top - listed)}"
    assert all((ROOT / folder).is_dir() for folder in listed)


def test_modules_are_short() -> None:
    lengths = {path.relative_to(SOURCE).as_posix(): path.read_bytes().count(b"\n") for path in SOURCE.rglob("*.py")}
    assert {path: lines for path, lines in lengths.items() if lines >= MAX_LINES} == {}


def test_folders_have_few_modules() -> None:
    sizes = {folder: len(list((ROOT / folder).glob("[!_]*.py"))) for folder in folders_with_python(SOURCE)}
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}

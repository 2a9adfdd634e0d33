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

WITHOUT_COUNTERPART: Final = {
    "cli/test_command_line.py",
    "cli/test_history_command.py",
    "cli/test_serve_options.py",
    "cli/test_watch_command.py",
    "client/test_client_tls.py",
    "client/test_package.py",
    "fleet/test_fleet_command.py",
    "handlers/test_better_than_java.py",
    "handlers/test_cluster_info.py",
    "handlers/test_java_cluster_test.py",
    "handlers/test_java_request_processor.py",
    "handlers/test_java_zone_hook.py",
    "journal/test_journal_command.py",
    "journal/test_journal_docs.py",
    "journal/test_small_disk.py",
    "routes/test_java_route_info_manager.py",
    "routes/test_java_route_info_manager_new.py",
    "server/http/test_http_settings.py",
    "server/test_access_file.py",
    "test_history_sessions.py",
    "test_settings_show.py",
    "test_settings_update.py",
    "wire/test_peer_holding.py",
}
"""Unit tests that are still to be moved. No entry is ever added."""

TOO_LONG: Final = {
    "lake/build/ingest.py",
    "server/net/connection.py",
    "settings/table.py",
    "wire/fastjson/reader.py",
}
"""Modules that are still to be split. No entry is ever added."""


def has_counterpart(test: Path) -> bool:
    """Whether tests/unit/a/test_b.py tests a/b.py or the package a/b, or, if named after its folder, the package a."""
    folder, name = SOURCE / test.parent, test.stem.removeprefix("test_")
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file() or is_package(folder, name)


def is_package(folder: Path, name: str) -> bool:
    return folder.name == name and (folder / "__init__.py").is_file()


def folders_with_python(top: Path) -> set[str]:
    return {path.parent.relative_to(ROOT).as_posix() for path in top.rglob("*.py")}


def documented_folders() -> set[str]:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    return set(re.findall(r"^\| `((?:src|tests)(?:/[\w/]+)?)` \|", page, re.MULTILINE))


def test_unit_tests_mirror_the_source() -> None:
    tests = [path.relative_to(UNIT) for path in UNIT.rglob("test_*.py")]
    assert {test.as_posix() for test in tests if not has_counterpart(test)} <= WITHOUT_COUNTERPART


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
    assert {path for path, lines in lengths.items() if lines >= MAX_LINES} <= TOO_LONG


def test_folders_have_few_modules() -> None:
    sizes = {folder: len(list((ROOT / folder).glob("*.py"))) for folder in folders_with_python(SOURCE)}
    assert not {folder: size for folder, size in sizes.items() if size > MAX_MODULES}

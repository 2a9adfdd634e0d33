"""Selection of the Java for Spark, and the links that drop one argument."""

import subprocess
from pathlib import Path

import pytest

from routebook.lake.errors import NoJava
from routebook.lake.spark.java import adapted_for_spark, java_home, version_of


def pretend(home: Path, version: str) -> Path:
    """A script that prints a Java version, or its arguments."""
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    java = home / "bin" / "java"
    version_line = f"echo 'openjdk version \"{version}\"' >&2"
    java.write_text(f'#!/bin/sh\nif [ "$1" = -version ]; then {version_line}; else printf "%s|" "$@"; fi\n')
    java.chmod(0o755)
    return home


@pytest.mark.parametrize(("version", "expected"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25)])
def test_the_major_version(tmp_path: Path, version: str, expected: int) -> None:
    assert version_of(pretend(tmp_path / "java", version)) == expected
    assert version_of(tmp_path) is None


def test_an_installed_java_17_or_later_is_used(tmp_path: Path) -> None:
    old, new = pretend(tmp_path / "old", "11.0.2"), pretend(tmp_path / "new", "21.0.1")
    assert java_home({"JAVA_HOME": str(new), "PATH": str(old / "bin")}) == new
    assert java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == new


def test_no_java_reports_the_unsuitable_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routebook.lake.spark.java._bundled", lambda: None)
    old = pretend(tmp_path / "old", "11.0.2")
    with pytest.raises(NoJava, match=r"old is Java 11\): set JAVA_HOME"):
        java_home({"JAVA_HOME": str(old), "PATH": ""})


def test_the_adapted_java_drops_the_unknown_module(tmp_path: Path) -> None:
    adapted = adapted_for_spark(pretend(tmp_path / "java", "25"), cache=tmp_path / "cache")
    args = ["-Dx=a b", "--add-modules=jdk.incubator.vector", "--add-modules=other", "", "*"]
    said = subprocess.run([adapted / "bin" / "java", *args], capture_output=True, text=True, check=True).stdout
    assert said == "-Dx=a b|--add-modules=other||*|"
    assert adapted_for_spark(tmp_path / "java", cache=tmp_path / "cache") == adapted
    assert (adapted / "lib").resolve() == (tmp_path / "java" / "lib").resolve()

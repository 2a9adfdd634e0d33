"""Progress of a build on stderr."""

import re

import pytest

from routebook.cli.lake.progress import build_progress
from routebook.lake.build.outcome import Stage

STAGES = (
    Stage(name="opening"),
    Stage(name="reading", total=3, unit="segments"),
    Stage(name="reading", done=3, total=3, unit="segments", rows=1200, bytes=2_500_000),
    Stage(name="silver.observed", done=0, total=17, rows=1200),
    Stage(name="silver.observed", done=0, total=17, rows=1200),
    Stage(name="publishing"),
)


def test_without_a_terminal_each_stage_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with build_progress(quiet=False) as show:
        for stage in STAGES:
            show(stage)
    out, err = capsys.readouterr()
    assert out == ""
    assert [re.sub(r"^ *\d+\.\d s  ", "", line) for line in err.splitlines()] == [
        "starting Spark",
        "opening",
        "reading, 0 of 3 segments",
        "reading, 3 of 3 segments, 2.5 MB, 1,200 rows",
        "silver.observed, 0 of 17 tables, 1,200 rows",
        "publishing",
    ]


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with build_progress(quiet=True) as show:
        for stage in STAGES:
            show(stage)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_line_moves_from_the_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with build_progress(quiet=False) as show:
        began = capsys.readouterr().err
        for stage in STAGES:
            show(stage)
    assert "starting Spark" in began

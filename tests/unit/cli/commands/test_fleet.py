"""`routebook fleet`: simulate, scenarios, and usage errors."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from routebook.cli import main
from routebook.fleet.scenario import shipped_names


def routebook(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr("sys.argv", ["routebook", *args])
    return main()


def test_scenarios(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert routebook(monkeypatch, "fleet", "scenarios", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == shipped_names()
    assert routebook(monkeypatch, "fleet", "scenarios") == 0
    assert "rolling-restart" in capsys.readouterr().out


def test_simulate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = str(tmp_path / "days")
    options = (
        "--days",
        "0.2",
        "--brokers",
        "5",
        "--topics",
        "4",
        "--clients",
        "2",
        "--nameservers",
        "2",
        "--seed",
        "9",
    )
    assert routebook(monkeypatch, "fleet", "simulate", "--out", out, *options, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["brokers"], report["topics"], report["clients"], report["seed"]) == (5, 4, 2, 9)
    assert sorted(path.name for path in (tmp_path / "days").iterdir()) == ["ns-1", "ns-2", "truth.jsonl"]
    for name in ("ns-1", "ns-2"):
        assert routebook(monkeypatch, "journal", "verify", "--dir", f"{out}/{name}") == 0
        assert capsys.readouterr().out.startswith("whole: ")


def test_simulate_prints_a_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = routebook(monkeypatch, "fleet", "simulate", "--out", str(tmp_path), "--days", "0.1", "-s", "quiet-day")
    assert code == 0
    text = capsys.readouterr().out
    assert text.startswith("quiet-day: 0.1 days of 12 brokers, 60 topics and 20 clients (seed 1)\n")
    assert f"truth      {tmp_path}/truth.jsonl\n" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("simulate", "--out", "{tmp}", "--days", "0"), "0 days: must be greater than 0"),
        (("simulate", "--out", "{tmp}", "--from", "soon"), "--from soon: not a time"),
        (("simulate", "--out", "{tmp}", "-s", "nothing"), "unknown scenario 'nothing'"),
        (("simulate",), "--out"),
        (("run", "--duration", "long"), "--duration: 'long' is not a duration"),
        (("run", "--time-scale", "0"), "time scale 0"),
        (("run", "-n", "a:b:c"), "is not an address"),
        (("fly",), "fly"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    args: Sequence[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert routebook(monkeypatch, "fleet", *(arg.format(tmp=tmp_path) for arg in args)) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_no_reachable_nameserver_is_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert routebook(monkeypatch, "fleet", "run", "-n", "127.0.0.1:1", "--duration", "1s") == 3
    assert "refused the connection" in capsys.readouterr().err

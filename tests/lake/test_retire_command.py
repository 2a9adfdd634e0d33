"""`routebook lake retire` marks and unmarks brokers; the pipeline is that of the tests' Spark session."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from routebook.cli import main
from routebook.cli.commands.lake import retire
from routebook.lake.build.pipeline import Pipeline
from routebook.lake.build.steps import STEPS
from tests.support.lake import SparkLake, line, write_rolled
from tests.support.lake_refresh import needed

UP = {"cluster": "c", "broker_id": 0, "timeout_ms": 120_000, "acting_master": False}


def journal(folder: Path) -> str:
    """Brokers a and b fail after ten minutes; a third one runs until the end, 30 minutes later."""
    started = line("n", 1, "server_started", version="1", listen="x", cold=True, recovered=0)
    ups = [line("n", 2 + k, "broker_up", broker=name, addr=f"10.0.0.{k}:1", **UP) for k, name in enumerate("abz")]
    downs = [
        line("n", 10 + k, "broker_down", cluster="c", broker=name, broker_id=0, addr=f"10.0.0.{k}:1", reason="closed")
        for k, name in enumerate("ab")
    ]
    last = line("n", 40, "setting_changed", key="k", before="1", after="2")
    write_rolled(folder, 1, 40, [started, *ups, *downs, last])
    return str(folder)


@pytest.fixture
def lake(small_lake: SparkLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SparkLake:
    steps = needed(STEPS, "broker_availability_daily")
    small_lake.pipeline(steps).build([journal(tmp_path / "journal")])

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Pipeline]:
        yield small_lake.pipeline(steps)

    monkeypatch.setattr(retire, "open_pipeline", opened)
    return small_lake


def run(lake: SparkLake, capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["lake", "retire", *args, "--lake", str(lake.home)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def down_s(lake: SparkLake) -> dict[str, float]:
    rows = lake.rows("gold.broker_availability_daily", "broker", "unplanned_down_s")
    return {broker: round(down_s) for broker, down_s in rows}


def retired(lake: SparkLake) -> list[Any]:
    return [broker for broker, is_retired in lake.rows("gold.outage_impact", "broker", "retired") if is_retired]


@pytest.mark.slow
def test_retire_and_undo(lake: SparkLake, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"a": 1800, "b": 1740, "z": 0}
    assert down_s(lake) == before

    code, out, err = run(lake, capsys, "nobody")
    assert (code, out) == (1, "")
    assert "nobody: the lake has no open outage of this broker" in err
    code, out, _ = run(lake, capsys, "z", "--json")
    assert (code, json.loads(out)) == (1, {"broker": "z", "retired": False, "nameservers": []})
    assert run(lake, capsys, "a", "--cluster", "other")[0] == 1
    assert run(lake, capsys, "a", "--id", "7")[0] == 1
    assert (retired(lake), lake.rows("meta.retired")) == ([], [])

    code, out, _ = run(lake, capsys, "a", "--why", "sold")
    assert (code, out) == (0, "a is retired: its outage counts no longer at n\n")
    assert lake.rows("meta.retired", "broker", "cluster", "broker_id", "why") == [("a", None, None, "sold")]
    assert (retired(lake), down_s(lake)) == (["a"], before | {"a": 0})

    assert run(lake, capsys, "a", "--undo", "--id", "0")[0] == 1, "the mark is one of the whole group"
    code, out, err = run(lake, capsys, "b", "--undo")
    assert (code, out, "b: the lake has no mark of this broker" in err) == (1, "", True)
    code, out, _ = run(lake, capsys, "a", "--undo", "--json")
    assert (code, json.loads(out)) == (0, {"broker": "a", "retired": False, "nameservers": ["n"]})
    assert (retired(lake), lake.rows("meta.retired"), down_s(lake)) == ([], [], before)

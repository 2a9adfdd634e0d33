"""The example notebook runs unchanged against a NameServer and a lake."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from routebook.lake.tables.gold import BROKER_SESSIONS
from tests.support.iceberg_lake import IcebergLake
from tests.support.process import serving

NOTEBOOK = Path(__file__).parents[2] / "examples" / "lake_notebook.py"
NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
LIMIT_S = 600.0  # generous: the machine can be busy


@pytest.mark.slow
def test_the_notebook_streams_reads_and_queries(tmp_path: Path) -> None:
    lake = IcebergLake(tmp_path / "lake")
    names = [column.name for column in BROKER_SESSIONS.declared]
    session = dict.fromkeys(names) | {"ns": "n", "broker": "broker-a", "addr": "10.0.0.1:10911", "started_at": NOON}
    lake.write("gold.broker_sessions", [session], columns=BROKER_SESSIONS.columns)
    lake.publish(build_id="first", at=NOON, events=1)
    with serving(tmp_path / "home", http="127.0.0.1:0") as server:
        given = {"SERVER": server.wait_until_http(), "LAKE": str(lake.path), "SECONDS": "1"}
        ran = subprocess.run(
            [sys.executable, str(NOTEBOOK)],
            env=dict(os.environ) | given,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert "|server_started" in ran.stdout, ran.stdout
    assert "'broker': 'broker-a'" in ran.stdout, ran.stdout

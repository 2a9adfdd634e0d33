"""The import contracts hold, and planted violations of them are found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "200"}
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("routes/table.py", "from routebook.wire.peer import Peer"),
        ("wire/peer.py", "from routebook.routes import RouteTable"),
        ("handlers/lookup.py", "from routebook.server.clock import Clock"),
        ("model.py", "from routebook.events import Event"),
        ("handlers/brokers.py", "import time"),
        ("wire/codec.py", "import socket"),
        ("routes/views.py", "import logging"),
        ("kv.py", "from pathlib import Path"),
        ("lake/tables/gold/__init__.py", "from routebook.lake.read.reader import Lake"),
        ("lake/spark/session.py", "from routebook.lake.build.steps import STEPS"),
        ("lake/read/query.py", "from routebook.lake.spark.session import open_session"),
        ("lake/reports/scope.py", "from pyspark.sql import DataFrame"),
        ("server/net/limits.py", "from routebook.server.http.context import HttpContext"),
        ("server/state/recorder.py", "from routebook.server.net.outbox import Outbox"),
        ("server/access/denials.py", "from routebook.server.net.limits import Host"),
        ("server/net/flow_control.py", "from routebook.server.net.connection import Connection"),
        ("server/http/transport/asgi.py", "from routebook.server.http.api.login import login"),
    ],
    ids=lambda text: text.replace("/", "."),
)
def test_planted_violations_are_found(copy: Path, module: str, line: str) -> None:
    path = copy / "src" / "routebook" / module
    path.write_text(path.read_text() + f"\n{line}\n")
    done = lint_imports(copy)
    assert done.returncode != 0, done.stdout
    assert "BROKEN" in done.stdout

"""The HTTP port of a Controller in its own process: probes, health, metrics and `/v1/controller`, nothing else."""

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.support.controllers import controller_settings, free_address
from tests.support.process import Process
from tests.support.remoting_frames import Link, Request

APPLY = {"clusterName": "C", "brokerName": "b-a", "appliedBrokerId": "1", "registerCheckCode": "10.0.0.1:1;7"}


def test_a_controller_of_its_own_serves_health_and_metrics(tmp_path: Path) -> None:
    address = free_address()
    file = tmp_path / "node.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in controller_settings(address, tmp_path).items()))
    process = Process("controller", "-c", str(file), "--home", str(tmp_path / "home"), "--http", "127.0.0.1:0")
    try:
        http = process.wait_until_http()

        def get(path: str) -> bytes:
            with urlopen(http + path, timeout=60) as response:
                return bytes(response.read())

        with Link(("127.0.0.1", int(address.rpartition(":")[2]))) as link:
            assert link.ask(Request(code=1013, ext=APPLY)).code == 0
        assert json.loads(get("/healthz"))["status"] == "alive"
        assert json.loads(get("/readyz"))["ready"]
        health = json.loads(get("/v1/health"))
        assert health["condition"] == "ok"
        assert health["parts"]["controller"]["facts"]["sets"] == 1
        metrics = get("/metrics").decode()
        assert "routebook_controller_leader 1.0" in metrics
        assert 'routebook_controller_requests_total{code="success",kind="controller_apply_broker_id"} 1.0' in metrics
        assert 'routebook_controller_commits_total{result="committed"} 1.0' in metrics
        assert "routebook_topics" not in metrics, "there is no NameServer"
        assert json.loads(get("/v1/controller"))["node"]["is_leader"]
        with pytest.raises(HTTPError, match="404"):
            get("/v1/brokers")
        assert process.stop() == 0
    finally:
        process.kill()


def test_without_the_option_there_is_no_http_port(tmp_path: Path) -> None:
    file = tmp_path / "node.conf"
    lines = controller_settings(free_address(), tmp_path)
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    process = Process("controller", "-c", str(file), "--home", str(tmp_path / "home"))
    try:
        process.wait_for_out(r"listening on \S+ \(controller\)", timeout_s=120)
        assert process.stop() == 0
        assert "(http)" not in process.out
    finally:
        process.kill()

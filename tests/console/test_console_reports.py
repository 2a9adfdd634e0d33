"""Reports over HTTP, read by a separate process from a lake in the server's home."""

from pathlib import Path

import httpx
import pytest

from routebook.lake.status import State, Status, write_status
from tests.support.process import serving

pytest.importorskip("pyiceberg", reason="needs the lake extra: pip install 'routebook[lake]'")

from tests.support.sample_lake import sample_lake


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (State.STARTING, "lake-building"),
        (State.BUILDING, "lake-building"),
        (State.FAILED, "lake-failed"),
        (State.STOPPED, "no-lake"),
    ],
)
def test_without_a_lake_the_reason_is_given(tmp_path: Path, state: State, code: str) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as ns:
        write_status(tmp_path / "lake", Status(state=state, at_ms=1, says="tables: 3 of 12"))
        answer = httpx.get(f"{ns.wait_until_http()}/v1/reports/availability", timeout=60)
        assert (answer.status_code, answer.json()["code"]) == (404 if code == "no-lake" else 503, code)
        assert (answer.headers.get("retry-after") is not None) == (code == "lake-building")
        assert ("tables: 3 of 12" in answer.text) == (code != "no-lake")


def test_every_report_of_a_lake(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as ns:
        url = ns.wait_until_http()
        missing = httpx.get(f"{url}/v1/reports", timeout=60)
        assert (missing.status_code, missing.json()["code"]) == (404, "no-lake")
        assert missing.json()["command"] == f"routebook lake build --journal {tmp_path}/journal --lake {tmp_path}/lake"
        sample_lake(tmp_path / "lake")
        before = ns.resident_bytes()
        listed = httpx.get(f"{url}/v1/reports", timeout=60).json()
        assert listed["build"]["id"]
        assert listed["built_at_ms"] > 0
        assert listed["nameservers"] == ["ns-1", "ns-2", "ns-3"]
        assert listed["clusters"]
        for report in listed["reports"]:
            answer = httpx.get(
                f"{url}/v1/reports/{report['name']}", params={"days": 3660, "zone": "Europe/Berlin"}, timeout=60
            )
            assert answer.status_code == 200, answer.text
            assert answer.json()["report"] == report["name"]
            assert answer.json()["build"]["id"] == listed["build"]["id"]
        assert ns.resident_bytes() - before < 20 << 20, "the lake is read in another process"
        nowhere = httpx.get(f"{url}/v1/reports/availability", params={"zone": "Nowhere/Atall"}, timeout=60)
        assert nowhere.status_code == 400
        assert httpx.get(f"{url}/v1/reports/nothing", timeout=60).status_code == 404

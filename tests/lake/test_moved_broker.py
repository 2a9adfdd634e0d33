"""A real broker that is killed and returns under another address is one broker with one outage, everywhere."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from routebook.cli import main
from routebook.lake.build.steps import STEPS
from tests.interop.programs.nameserver_probe import Server, wait_until
from tests.support.java import java_broker
from tests.support.lake import SparkLake
from tests.support.lake_refresh import needed
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]


def test_a_broker_restarted_under_another_address_is_one_outage(
    small_lake: SparkLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path / "ns", http="127.0.0.1:0") as process:
        server, url = Server(process.address), process.wait_until_http()
        with java_broker(tmp_path / "broker", nameserver=server.address) as broker:
            server.wait_for_members("b-a", {0})
            before = f"127.0.0.1:{broker.port}"
            went = [time.time()]
            broker.process.kill()
            wait_until(lambda: server.members("b-a") == {}, "the killed broker is removed")
            went.append(time.time())
        came = [time.time()]
        with java_broker(tmp_path / "broker", nameserver=server.address, brokerIP1="127.0.0.2") as broker:
            server.wait_for_members("b-a", {0})
            came.append(time.time())
            after = f"127.0.0.2:{broker.port}"
            assert server.members("b-a") == {0: after}
            wait_until(lambda: len(sessions(url)) == 2, "the history has both sessions")
            member = the_only(httpx.get(f"{url}/v1/brokers/b-a/sessions?days=1").json()["members"])
            live = httpx.get(f"{url}/v1/brokers/b-a").json()
            process.stop()  # before the broker, whose stop would be another outage
    first, second = member["sessions"]
    assert (first["addr"], first["ended"], second["addr"], second["to_ms"]) == (before, "closed", after, None)
    assert_between(first["to_ms"] / 1000, went)
    assert_between(second["from_ms"] / 1000, came)
    assert (member["addr"], sum(day["outages"] for day in member["days"])) == (after, 1)
    down_ms = sum(day["observed_ms"] - day["up_ms"] for day in member["days"])
    assert down_ms == second["from_ms"] - first["to_ms"]
    assert the_only(live["group"]["members"])["addr"] == after

    steps = needed(STEPS, "outage_impact", "broker_availability_daily", "broker_flaps")
    small_lake.pipeline(steps).build([str(tmp_path / "ns" / "journal")])
    columns = ("broker", "broker_id", "addr", "returned_addr", "reason", "planned", "min_s", "max_s")
    row = the_only(small_lake.rows("gold.outage_impact", *columns))
    assert row[:6] == ("b-a", 0, before, after, "closed", False)
    assert row[6:] == pytest.approx((down_ms / 1000, down_ms / 1000), abs=0.002)
    days = small_lake.rows("gold.broker_availability_daily", "broker", "broker_id", "member", "outages", "down_s")
    assert {day[:3] for day in days} == {days[0][:3]}
    assert (sum(day[3] for day in days), sum(day[4] for day in days)) == pytest.approx((1, down_ms / 1000), abs=0.002)

    capsys.readouterr()
    assert main(["lake", "report", "outages", "availability", "--json", "--lake", str(small_lake.home)]) == 0
    reports = json.loads(capsys.readouterr().out)
    outage = the_only(reports["outages"]["outages"])
    assert (outage["addr"], outage["returnedAddr"]) == (before, after)
    assert outage["durationS"] == pytest.approx(down_ms / 1000, abs=0.002)
    reported = the_only(reports["availability"]["brokers"])
    assert (reported["broker"], reported["addr"], reported["outages"]) == ("b-a", after, 1)


def sessions(url: str) -> list[Any]:
    answer = httpx.get(f"{url}/v1/brokers/b-a/sessions?days=1").json()
    return [session for member in answer.get("members", ()) for session in member["sessions"]]


def the_only(some: Any) -> Any:
    (one,) = some
    return one


def assert_between(at_s: float, bounds: list[float]) -> None:
    assert bounds[0] - 0.1 <= at_s <= bounds[1] + 0.1

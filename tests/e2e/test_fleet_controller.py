"""A fleet in controller mode over TCP against a real process: faults, elections, and who was master afterwards."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from routebook.client.addresses import Address
from routebook.fleet.live.report import FleetReport, format_report
from routebook.fleet.live.run import FleetRun
from routebook.fleet.scenario import Fault, FaultKind, Millis, Scenario, load_scenario
from tests.support.command_line import routebook
from tests.support.process import Process, serving

SCALE = 10.0
SETS = 3
HOUR_MS = 3_600_000


@pytest.fixture
def controller() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def ns(tmp_path: Path, controller: int) -> Iterator[Process]:
    """Only the heartbeat scan finds a silent master: the master scan is due in an hour."""
    with nameserver(tmp_path, controller, heartbeat_scan_ms=500, master_scan_ms=HOUR_MS) as process:
        yield process


@contextmanager
def nameserver(home: Path, controller: int, *, heartbeat_scan_ms: int, master_scan_ms: int) -> Iterator[Process]:
    settings = {
        "enableControllerInNamesrv": True,
        "controllerDLegerGroup": "g",
        "controllerDLegerPeers": f"n0-127.0.0.1:{controller}",
        "controllerDLegerSelfId": "n0",
        "scanNotActiveBrokerInterval": heartbeat_scan_ms,
        "scanInactiveMasterInterval": master_scan_ms,
    }
    with serving(home / "home", http="127.0.0.1:0", settings=settings) as process:
        process.wait_for_out(r"\(controller\)")
        process.wait_until_http()
        yield process


def scenario(*faults: Fault) -> Scenario:
    given = load_scenario("failovers").sized(brokers=1, topics=1, clients=0)
    terms = msgspec.structs.replace(given.controller, sets=SETS)
    return msgspec.structs.replace(given, controller=terms, fault=faults)


async def run_until(run: FleetRun, http: str, wanted: int) -> tuple[FleetReport, list[dict[str, Any]]]:
    """Run a fleet until its Controller has recorded this many elections and all sets have a master in sync."""
    running = asyncio.create_task(run.run())
    async with httpx.AsyncClient(base_url=http) as client, asyncio.timeout(120):
        while True:
            found = (await client.get("/v1/controller/elections", params={"limit": 1000})).json()["elections"]
            sets = (await client.get("/v1/controller/sets")).json()["sets"]
            settled = [all(one["in_sync"] and one["alive"] for one in row["replicas"]) for row in sets]
            if len(found) >= wanted and len(sets) == SETS and all(settled):
                break
            assert not running.done(), running.result()
            await asyncio.sleep(0.1)
    run.stop()
    return await running, found


@pytest.mark.slow
def test_masters_that_die_or_hang_and_a_lost_set(ns: Process, controller: int) -> None:
    at = [Millis(120_000 + 10_000 * turn) for turn in range(3)]
    faults = (
        Fault(kind=FaultKind.MASTER_KILLED, at=at[0], lasts=Millis(60_000)),
        Fault(kind=FaultKind.MASTER_FROZEN, at=at[1], lasts=Millis(120_000)),
        Fault(kind=FaultKind.SET_KILLED, at=at[2], lasts=Millis(60_000)),
    )
    address = Address(ns.host, ns.port)
    run = FleetRun(
        scenario(*faults),
        [address],
        seed=3,
        duration_ms=3_600_000,
        scale=SCALE,
        controllers=[Address("127.0.0.1", controller)],
    )
    report, elections = asyncio.run(run_until(run, ns.wait_until_http(), SETS + 4))
    assert [fault.kind for fault in report.faults] == ["master-killed", "master-frozen", "set-killed"]
    assert (report.sets.sets, report.sets.with_master, report.sets.failovers) == (SETS, SETS, 3)
    assert any(line.startswith("sets ") for line in format_report(report))
    targets = {fault.kind: fault.target for fault in report.faults}

    causes = {(one["broker"], one["cause"]): one for one in elections}
    assert sum(one["cause"] == "first" for one in elections) == SETS
    killed = causes[targets["master-killed"], "closed"]
    assert (killed["master_id"], killed["before_id"]) == (2, 1)
    frozen = causes[targets["master-frozen"], "expired"]
    assert (frozen["master_id"], frozen["before_id"]) == (2, 1)
    assert frozen["at_ms"] - frozen["lost_at_ms"] >= 10_000 / SCALE
    lost = causes[targets["set-killed"], "closed"]
    back = causes[targets["set-killed"], "broker"]
    assert lost["master_id"] is None
    assert (back["master_id"] is not None, back["lost_at_ms"]) == (True, lost["lost_at_ms"])
    assert len(elections) == SETS + 4

    shown = routebook(
        *("controller", "sets", targets["master-killed"], "--http", ns.wait_until_http(), "--json"),
        *("--at", str(killed["at_ms"] - 1)),
    )
    assert json.loads(shown.out)["set"]["master_id"] == 1


@pytest.mark.slow
def test_the_master_scan_finds_a_frozen_master_by_itself(tmp_path: Path, controller: int) -> None:
    """The heartbeat scan is due in an hour; a broker is dead when its timeout has passed, removed or not."""
    fault = Fault(kind=FaultKind.MASTER_FROZEN, at=Millis(120_000), lasts=Millis(120_000))
    with nameserver(tmp_path, controller, heartbeat_scan_ms=HOUR_MS, master_scan_ms=500) as ns:
        run = FleetRun(
            scenario(fault),
            [Address(ns.host, ns.port)],
            seed=3,
            duration_ms=HOUR_MS,
            scale=SCALE,
            controllers=[Address("127.0.0.1", controller)],
        )
        report, elections = asyncio.run(run_until(run, ns.wait_until_http(), SETS + 1))
    (found,) = [one for one in elections if one["cause"] != "first"]
    assert (found["broker"], found["cause"]) == (report.faults[0].target, "scan")
    assert (found["master_id"], found["before_id"]) == (2, 1)
    assert found["at_ms"] - found["lost_at_ms"] >= 10_000 / SCALE


def test_without_a_controller_the_sets_do_not_start(ns: Process) -> None:
    fault = Fault(kind=FaultKind.MASTER_KILLED, at=Millis(1000), lasts=Millis(1000))
    run = FleetRun(scenario(fault), [Address(ns.host, ns.port)], seed=1, duration_ms=20_000, scale=SCALE)
    report = asyncio.run(run.run())
    assert (report.sets.sets, report.faults, report.left_out) == (0, (), 1)

"""A fleet in controller mode on three Controllers and three etcd members: partitions, and faults of both."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import msgspec
import pytest

from routebook.client.addresses import Address, parse_address
from routebook.controller_events import ControllerLeader, MasterElected, NoMasterElected
from routebook.fleet.live.run import FleetRun
from routebook.fleet.scenario import Fault, FaultKind, Millis, load_scenario
from tests.chaos.proxy import Mode, Proxy
from tests.support.asynchronous import asynchronous
from tests.support.controllers import ControllerProbe, free_address
from tests.support.etcd import Cluster, Member, etcd_cluster
from tests.support.journals import events
from tests.support.process import Process, serving

SIZE: Final = 3
SETS: Final = 2
SCALE: Final = 10.0
WAIT_S: Final = 120.0


class Group:
    """Three Controllers; each reaches etcd through proxies of its own, so that it can be cut off."""

    def __init__(self, folder: Path, etcd: Cluster) -> None:
        self.etcd = etcd
        self.homes = [folder / f"n{number}" for number in range(SIZE)]
        self.addresses = [free_address() for _ in range(SIZE)]
        self._peers = ";".join(f"n{number}-{address}" for number, address in enumerate(self.addresses))
        self._proxies = [[Proxy(_target(member)) for member in etcd.members] for _ in range(SIZE)]
        self.processes: list[Process] = []
        self.hit: list[tuple[FaultKind, str]] = []  # each outage with its target

    async def start(self) -> None:
        for proxies in self._proxies:
            for proxy in proxies:
                await proxy.start()
        self.processes = [self._started(number) for number in range(SIZE)]

    async def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for proxies in self._proxies:
            for proxy in proxies:
                await proxy.stop()

    async def leader(self) -> int:
        """The node that reports itself as the leader."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for number, address in enumerate(self.addresses):
                    if await asyncio.to_thread(_leads, address):
                        return number
                await asyncio.sleep(0.1)

    async def outage(self, kind: FaultKind, lasts_s: float) -> None:
        if kind is FaultKind.ETCD_KILLED:
            member = await asyncio.to_thread(_follower, self.etcd)
            self.hit.append((kind, member.name))
            member.kill()
            await asyncio.sleep(lasts_s)
            self.etcd.restart(member)
            return
        number = await self.leader()
        self.hit.append((kind, f"n{number}"))
        if kind is FaultKind.CONTROLLER_KILLED:
            self.processes[number].kill()
            await asyncio.sleep(lasts_s)
            self.processes[number] = self._started(number)
            return
        for mode in (Mode.DROP, Mode.PASS):
            for proxy in self._proxies[number]:
                await proxy.set_mode(mode)
            if mode is Mode.DROP:
                await asyncio.sleep(lasts_s)

    def _started(self, number: int) -> Process:
        home = self.homes[number]
        home.mkdir(exist_ok=True)
        settings = {
            "controllerDLegerGroup": "g",
            "controllerDLegerPeers": self._peers,
            "controllerDLegerSelfId": f"n{number}",
            "scanNotActiveBrokerInterval": 500,
            "routebook.controller.engine": "etcd",
            "routebook.controller.etcdEndpoints": ",".join(
                f"http://127.0.0.1:{proxy.port}" for proxy in self._proxies[number]
            ),
        }
        (home / "node.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return Process("controller", "-c", str(home / "node.conf"), "--home", str(home / "home"))


def _target(member: Member) -> tuple[str, int]:
    return "127.0.0.1", member.client_port


def _leads(address: str) -> bool:
    try:
        return ControllerProbe(address).ask(1005).ext.get("isLeader") == "true"
    except (OSError, AssertionError):
        return False


def _follower(etcd: Cluster) -> Member:
    """A member that does not lead etcd, so that its death costs nothing but a repeated request."""
    for member in etcd.members:
        with urlopen(HttpRequest(f"{member.url}/v3/maintenance/status", data=b"{}")) as response:
            status = json.load(response)
        if status["leader"] != status["header"]["member_id"]:
            return member
    raise AssertionError("every member leads")


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[Group, Process]]:
    with ExitStack() as stack:
        etcd = stack.enter_context(etcd_cluster(folder, SIZE))
        nameserver = stack.enter_context(serving(folder / "ns"))
        group = Group(folder, etcd)
        try:
            await group.start()
            await group.leader()
            yield group, nameserver
        finally:
            await group.stop()


@pytest.mark.slow
@asynchronous
async def test_partitions_and_lost_processes(tmp_path: Path) -> None:
    """Ground truth: what was injected, beside what the journals of the nodes recorded."""
    kinds = (FaultKind.MASTER_CUT, FaultKind.ETCD_KILLED, FaultKind.CONTROLLER_CUT, FaultKind.CONTROLLER_KILLED)
    starts = (120, 400, 680, 960)  # each after the recovery from the one before
    faults = [
        Fault(kind=kind, at=Millis(at * 1000), lasts=Millis(60_000)) for kind, at in zip(kinds, starts, strict=True)
    ]
    given = load_scenario("failovers").sized(brokers=1, topics=1, clients=0)
    terms = msgspec.structs.replace(given.controller, sets=SETS)
    scenario = msgspec.structs.replace(given, controller=terms, fault=tuple(faults))
    async with running(tmp_path) as (group, nameserver):
        run = FleetRun(
            scenario,
            [Address(nameserver.host, nameserver.port)],
            seed=3,
            duration_ms=1_300_000,
            scale=SCALE,
            controllers=[parse_address(address) for address in group.addresses],
            outage=group.outage,
        )
        report = await run.run()
    assert [fault.kind for fault in report.faults] == [str(kind) for kind in kinds]
    assert report.left_out == 0
    assert (report.sets.sets, report.sets.with_master, report.sets.failovers) == (SETS, SETS, 1)

    found = [
        (node, event) for node, home in enumerate(group.homes) for event in events(home / "home", ControllerLeader)
    ]
    leaders = [f"n{node}" for node, event in found if event.leads]
    for kind, target in group.hit:
        if kind is not FaultKind.ETCD_KILLED:
            assert set(leaders) - {target}, f"another node leads after {kind} of {target}: {leaders}"
    assert len(leaders) >= 3, "the first leader, and one after each loss of the leader"

    elections = [event for home in group.homes for event in events(home / "home", MasterElected)]
    cut = [event for event in elections if event.cause == "expired"]
    assert [(event.broker, event.before_id) for event in cut] == [(report.faults[0].target, 1)]
    assert sorted(event.cause for event in elections) == ["expired", *["first"] * SETS]
    assert not [event for home in group.homes for event in events(home / "home", NoMasterElected)]

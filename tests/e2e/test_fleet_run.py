"""A fleet over TCP against NameServers in this process, with a fast time scale."""

import asyncio
from collections.abc import Callable
from typing import Self

import pytest

from routebook.client.addresses import Address, parse_addresses
from routebook.client.dial import open_link
from routebook.fleet.live.report import FleetReport
from routebook.fleet.live.run import FleetRun
from routebook.fleet.scenario import parse_scenario
from routebook.testing import LocalNameServer
from routebook.wire.command import Command
from tests.support.asynchronous import asynchronous

# The fleet runs 50 times as fast; the NameServer's clock does not, but its scan interval can be set.
SCALE = 50.0
SETTINGS = {"scanNotActiveBrokerInterval": "20"}
SMALL = "[brokers]\ncount = 4\npaired = 1\nlisten = false\n{terms}\n[topics]\ncount = 6\n[clients]\ncount = 4\n"


def addresses(*nameservers: LocalNameServer) -> tuple[Address, ...]:
    return parse_addresses([one.address for one in nameservers])


def fleet(text: str, *nameservers: LocalNameServer, terms: str = "", duration_ms: int = 600_000) -> FleetRun:
    scenario = parse_scenario(SMALL.format(terms=terms) + text, name="small")
    return FleetRun(scenario, addresses(*nameservers), seed=1, duration_ms=duration_ms, scale=SCALE)


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + 30
    while not condition():
        assert clock() < deadline, f"not within 30 s: {what}"
        await asyncio.sleep(0.005)


class Playing:
    """A run in progress, which ends with the block."""

    def __init__(self, run: FleetRun) -> None:
        self.run = run
        self.task: asyncio.Task[FleetReport] | None = None

    async def __aenter__(self) -> Self:
        self.task = asyncio.create_task(self.run.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def end(self) -> FleetReport:
        assert self.task is not None
        self.run.stop()
        return await self.task


def all_registered_at(nameserver: LocalNameServer) -> bool:
    return nameserver.brokers() == {
        "broker-001": {0: "127.16.0.1:10911", 1: "127.16.0.2:10911"},
        "broker-002": {0: "127.16.0.3:10911", 1: "127.16.0.4:10911"},
    }


@pytest.mark.parametrize(
    "terms",
    [
        "",
        'header = "binary"',
        "compressed = true",
        "split = 5",
        "force_register = false",
        'acting_master = "compatible"',
        'acting_master = "new"',
    ],
)
@asynchronous
async def test_brokers_register_are_found_and_unregister(terms: str) -> None:
    with LocalNameServer(settings=SETTINGS) as one, LocalNameServer(settings=SETTINGS) as two:
        async with Playing(fleet("", one, two, terms=terms)) as playing:
            await until(lambda: all_registered_at(one) and all_registered_at(two), "all brokers at both NameServers")
            topics = {"topic-0001", "TBW102", "broker-002", "cluster-1"}
            await until(lambda: topics <= set(one.topics()) & set(two.topics()), "all topics at both")
            report = await playing.end()
        assert one.brokers() == two.brokers() == {}
    assert report.refused == 0
    assert report.requests["103"] >= 8
    assert report.requests["104"] == 8


@asynchronous
async def test_a_run_ends_after_its_duration_and_reports() -> None:
    with LocalNameServer() as one:
        report = await fleet("", one, duration_ms=60_000).run()
        assert one.brokers() == {}
    assert 60 <= report.lasted_s < 600
    assert (report.brokers, report.clients, report.faults) == (4, 4, ())
    assert report.lookups >= 4 * 3
    assert report.answers["0"] > 20
    assert [seen.topic for seen in report.topics] == sorted({seen.topic for seen in report.topics})


@pytest.mark.parametrize("kind", ["crash", "stop"])
@asynchronous
async def test_a_broker_leaves_and_returns(kind: str) -> None:
    text = f'[[fault]]\nkind = "{kind}"\nfor = "60s"\ntarget = "127.16.0.3:10911"\nat = "30s"\n'
    with LocalNameServer() as one:
        async with Playing(fleet(text, one)) as playing:
            await until(lambda: all_registered_at(one), "all brokers")
            await until(lambda: one.brokers()["broker-002"] == {1: "127.16.0.4:10911"}, "the master of one is gone")
            assert playing.run.status().latest[0].target == "broker-002/0"
            await until(lambda: all_registered_at(one), "all brokers again")


SILENCE = """
[[fault]]
kind = "crash"
silent = true
target = "127.16.0.1:10911"
at = "30s"
for = "500s"
[[fault]]
kind = "freeze"
target = "127.16.0.3:10911"
at = "30s"
for = "500s"
[[fault]]
kind = "cut"
target = "127.16.0.4:10911"
nameserver = 2
at = "30s"
for = "500s"
"""


@pytest.mark.slow
@asynchronous
async def test_silence_is_detected_and_ends() -> None:
    """A silent crash, a frozen process and a partition, with the short timeout of acting-master mode.

    The first scan of a NameServer is five seconds after its start.
    """
    with LocalNameServer(settings=SETTINGS) as one, LocalNameServer(settings=SETTINGS) as two:
        run = fleet(SILENCE, one, two, terms='acting_master = "compatible"', duration_ms=3_600_000)
        async with Playing(run) as playing:
            await until(lambda: all_registered_at(one) and all_registered_at(two), "all brokers at both")
            left = {"broker-001": {1: "127.16.0.2:10911"}, "broker-002": {1: "127.16.0.4:10911"}}
            await until(lambda: one.brokers() == left, "two masters are gone at the first")
            await until(lambda: two.brokers() == {"broker-001": left["broker-001"]}, "and a slave, too, at the second")
            assert playing.run.status().frozen == 1
            await until(lambda: all_registered_at(one) and all_registered_at(two), "all brokers at both again")
            report = await playing.end()
    targets = {fault.kind: fault.target for fault in report.faults}
    assert targets == {
        "crash (silent)": "broker-001/0",
        "freeze": "broker-002/0",
        "cut": f"broker-002/1 from {two.address}",
    }


@asynchronous
async def test_roles_switch_and_topics_change() -> None:
    text = (
        '[[fault]]\nkind = "switch"\nat = "30s"\n[[fault]]\nkind = "churn"\nat = "31s"\nevery = "500ms"\ntimes = 60\n'
    )
    with LocalNameServer(settings=SETTINGS) as one:
        async with Playing(fleet(text, one)) as playing:
            await until(lambda: all_registered_at(one), "all brokers")
            await until(lambda: len(one.brokers()) == 2 and not all_registered_at(one), "a slave has become master")
            await until(lambda: any(topic.startswith("churn-") for topic in one.topics()), "a topic was created")
            report = await playing.end()
    kinds = [fault.kind for fault in report.faults]
    assert kinds.count("switch") == 1
    assert kinds.count("churn") >= 1


@asynchronous
async def test_the_report_has_the_time_without_a_route() -> None:
    text = '[[fault]]\nkind = "crash"\ntarget = "all"\nat = "60s"\nfor = "30s"\n'
    with LocalNameServer() as one:
        async with Playing(fleet(text, one)) as playing:
            await until(lambda: playing.run.status().without_route == 0 and all_registered_at(one), "all is well")
            await until(lambda: playing.run.status().without_route > 0, "topics are gone")
            assert playing.run.status().down == 4
            await until(lambda: playing.run.status().without_route == 0, "and back")
            report = await playing.end()
    hurt = [seen for seen in report.topics if seen.without_route_s]
    assert hurt
    assert all(seen.misses and seen.clients for seen in hurt)
    assert report.without_route_s == max(seen.without_route_s for seen in report.topics)


@asynchronous
async def test_brokers_reconnect_to_a_restarted_nameserver() -> None:
    with LocalNameServer(settings=SETTINGS) as one, LocalNameServer(settings=SETTINGS) as two:
        async with Playing(fleet("", one, two)) as playing:
            await until(lambda: all_registered_at(one) and all_registered_at(two), "all brokers at both")
            await asyncio.to_thread(two.restart)
            assert two.brokers() == {}
            await until(lambda: all_registered_at(two), "all brokers at the one that has forgotten them")
            assert all_registered_at(one)
            await playing.end()


@asynchronous
async def test_brokers_listen_on_their_registered_address() -> None:
    scenario = parse_scenario("[brokers]\ncount = 1\n[clients]\ncount = 0\n", name="one")
    with LocalNameServer() as one:
        async with Playing(FleetRun(scenario, addresses(one), seed=1, scale=SCALE)) as playing:
            await until(lambda: bool(one.brokers()), "the broker")
            # if the address is in use, another process listens there
            link = await open_link(parse_addresses(one.brokers()["broker-001"][0])[0], connect_timeout_s=5)
            assert (await link.ask(Command(34, 1))).code == 0
            await link.aclose()
            report = await playing.end()
    assert report.unheard in (0, 1)

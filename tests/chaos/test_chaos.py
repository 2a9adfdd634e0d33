"""Three NameServers and a fleet under fault injection; a checker then reads the recorded history.

`--chaos-seconds` sets the duration, `--chaos-seed` the faults.
"""

import asyncio
import contextlib
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.checker import Terms, check
from tests.chaos.fault_sequence import FaultSequence
from tests.chaos.faults import CALM_S, FAULTS, disturb
from tests.chaos.fleet import ASK_S, PERIOD_S, ChaosBroker, look_up, restart_brokers, write_keys
from tests.chaos.history import History, Seen, Unanswered
from tests.chaos.nameserver import SCAN_S, TIMEOUT_S, ChaosNameServer
from tests.support.lag_meter import LagMeter
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, get_kv
from tests.support.small_disk import small_disk

NAMESERVERS = 3
BROKERS = 8
DISK_MEBIBYTES = 16
GRACE_S = 1.5  # plus the measured lag of this process


async def play(nameservers: list[ChaosNameServer], seconds: float, chance: random.Random) -> History:
    history, loop = History(), asyncio.get_running_loop()
    for nameserver in nameservers:
        await nameserver.proxy.start()
    brokers = [ChaosBroker(number, nameservers, history) for number in range(BROKERS)]
    activities = [restart_brokers(brokers, random.Random(chance.random()))]
    activities += [activity(nameserver, history) for nameserver in nameservers for activity in (look_up, write_keys)]
    tasks = [asyncio.create_task(activity) for activity in activities]
    try:
        until, sequence = loop.time() + seconds, FaultSequence(FAULTS, random.Random(chance.random()))
        async with asyncio.TaskGroup() as faults:
            for nameserver in nameservers:
                faults.create_task(disturb(nameserver, history, sequence, random.Random(chance.random()), until=until))
        await asyncio.sleep(CALM_S)
        for task in tasks:
            assert not task.done(), task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for broker in brokers:
            await broker.end(silent=False)
        for nameserver in nameservers:
            await nameserver.proxy.stop()
    history.ended = loop.time()
    await asyncio.sleep(0.1)  # lets the event loop finish closing the connections
    return history


def collect(nameserver: ChaosNameServer, history: History) -> None:
    """Read all written values back after one more kill -9."""
    nameserver.process.kill()
    asyncio.run(nameserver.restart())
    with Client(("127.0.0.1", nameserver.port)) as client:
        for one in history.writes:
            if one.nameserver == nameserver.name:
                reply = client.ask(get_kv(one.key))
                history.kept[nameserver.name, one.key] = reply.ext.get("value", "") if reply.code == 0 else ""


@pytest.mark.slow
def test_guarantees_hold_during_fault_injection(
    tmp_path: Path, pytestconfig: pytest.Config, reliability_report: ReliabilityReport
) -> None:
    seconds, seed = pytestconfig.getoption("--chaos-seconds"), pytestconfig.getoption("--chaos-seed")
    with contextlib.ExitStack() as stack:
        nameservers = []
        for number in range(NAMESERVERS):
            disk = stack.enter_context(small_disk(tmp_path / f"disk-{number}", mebibytes=DISK_MEBIBYTES))
            nameservers.append(ChaosNameServer(f"n{number}", disk))
            stack.callback(nameservers[-1].kill)
        with LagMeter() as lag:
            history = asyncio.run(play(nameservers, seconds, random.Random(seed)))
        for nameserver in nameservers:
            collect(nameserver, history)
        terms = Terms(timeout_s=TIMEOUT_S, scan_s=SCAN_S, period_s=PERIOD_S + ASK_S, grace_s=GRACE_S + lag.worst_s)
        violations = check(history, terms)
        kinds = Counter(fault.kind for fault in history.faults)
        seen = sum(isinstance(one, Seen) for one in history.observations)
        reliability_report.add(
            "chaos",
            f"{NAMESERVERS} NameServers, {BROKERS} brokers",
            seconds=round(seconds),
            faults=len(history.faults),
            kinds=len(kinds),
            look_ups=seen,
            unanswered=sum(isinstance(one, Unanswered) for one in history.observations),
            writes=len(history.writes),
            broker_lives=len(history.uptimes),
            unexpected_deaths=sum(nameserver.deaths for nameserver in nameservers),
            lag_s=round(lag.worst_s, 2),
            violations=len(violations),
        )
        for kind, count in sorted(kinds.items()):
            reliability_report.add("chaos faults", kind, injected=count)
        shown = "\n".join(map(str, [*violations[:20], *sorted(history.faults, key=lambda fault: fault.began)]))
        logs = "\n".join(nameserver.process.log[-1500:] for nameserver in nameservers)
        assert not violations, f"--chaos-seed={seed}\n{shown}\n{logs}"
        assert seen > 100
        assert history.writes

"""Three controllers on three etcd members, and brokers, through rounds of faults; a checker judges what brokers saw.

`--controller-rounds` sets the number of rounds, `--chaos-seed` the faults, `--controller-plant` a defect to be found.
"""

import asyncio
import contextlib
import random
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from routebook.server.controller.service import WARM_UP_S
from tests.chaos.controller.broker import Broker
from tests.chaos.controller.checker import Verdict, check
from tests.chaos.controller.clients import Clients
from tests.chaos.controller.cluster import Cluster, running_cluster
from tests.chaos.controller.faults import FAULTS, Target, inject
from tests.chaos.controller.history import History
from tests.chaos.controller.network import in_network_namespace
from tests.chaos.fault_sequence import FaultSequence
from tests.support.etcd import PROGRAM
from tests.support.missing_tools import require_tool
from tests.support.reliability_report import ReliabilityReport

SETS: Final = {"b-a": 3, "b-b": 2, "b-c": 3}
CONVERGED_S: Final = 120.0  # bound for a busy machine; the report has the measured times


def make_brokers(cluster: Cluster, history: History) -> list[Broker]:
    brokers: list[Broker] = []
    for name, size in SETS.items():
        of_set: list[Broker] = []
        for _ in range(size):
            address = cluster.network.broker_address(len(brokers) + len(of_set))
            of_set.append(Broker(name, address, cluster.nodes, history))
        for broker in of_set:
            broker.peers = [peer for peer in of_set if peer is not broker]
        brokers += of_set
    return brokers


def is_converged(brokers: Sequence[Broker]) -> bool:
    """Whether in each set all brokers agree on a live master."""
    for name in SETS:
        its = [broker for broker in brokers if broker.of == name]
        views = {(broker.epoch, broker.master) for broker in its}
        masters = [broker for broker in its if broker.is_master]
        if len(views) != 1 or len(masters) != 1:
            return False
    return True


async def converge(brokers: Sequence[Broker], clients: Clients, what: str) -> float:
    """Wait until all brokers agree and a change was committed; how long it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not (is_converged(brokers) and clients.last_commit_began > began):
        if loop.time() - began > CONVERGED_S:
            shown = [(one.of, one.identity, one.epoch, one.master, sorted(one.members)) for one in brokers]
            raise AssertionError(f"not converged {CONVERGED_S:g} s after {what}: {shown}")
        await asyncio.sleep(0.05)
    return loop.time() - began


async def play(
    cluster: Cluster, rounds: int, chance: random.Random, history: History
) -> tuple[Counter[str], list[float]]:
    kinds, recovered = Counter[str](), list[float]()
    brokers = make_brokers(cluster, history)
    clients = Clients(cluster.nodes, cluster.network.address, history, chance)
    try:
        for broker in brokers:
            await broker.start()
        clients.start(brokers)
        await converge(brokers, clients, "the start")
        await asyncio.sleep(WARM_UP_S)  # from now on a new leader looks for dead masters at once
        target, sequence = Target(cluster, brokers, chance), FaultSequence(FAULTS, chance)
        for number in range(rounds):
            kind = sequence.next()
            await inject(kind, target, lasts_s=chance.uniform(1.5, 7.0))
            kinds[kind] += 1
            recovered.append(await converge(brokers, clients, f"round {number}: {kind}"))
            sys.stdout.write(f"round {number}: {kind}: converged after {recovered[-1]:.1f} s\n")
            sys.stdout.flush()
    finally:
        for broker in brokers:  # before the logs are compared: a broker that runs confirms further messages
            with contextlib.suppress(AttributeError):
                broker.kill()
        await clients.stop()
        await asyncio.sleep(0.1)  # lets the event loop finish closing the connections
    for broker in brokers:
        if broker.is_master:
            history.kept[broker.of] = set(broker.log)
    return kinds, recovered


def run(folder: Path, rounds: int, seed: int, planted: str = "") -> tuple[History, Verdict, Counter[str], list[float]]:
    def work() -> tuple[History, Verdict, Counter[str], list[float]]:
        history = History()
        with running_cluster(folder, planted=planted) as cluster:
            try:
                kinds, recovered = asyncio.run(play(cluster, rounds, random.Random(seed), history))
            except BaseException:
                history.acknowledged.clear()  # the final log is unknown
                sys.stdout.write(f"violations until then: {check(history).violations[:20]}\n")
                logs = [
                    log for one in cluster.controllers for log in (*one.logs, one.process.log if one.process else "")
                ]
                sys.stdout.write("\n".join(log[-3000:] for log in logs))
                raise
        return history, check(history), kinds, recovered

    return in_network_namespace(work)


@pytest.mark.slow
def test_guarantees_hold_through_rounds_of_faults(
    tmp_path: Path, pytestconfig: pytest.Config, reliability_report: ReliabilityReport
) -> None:
    require_tool("etcd", path=PROGRAM)
    rounds, seed = pytestconfig.getoption("--controller-rounds"), pytestconfig.getoption("--chaos-seed")
    planted = pytestconfig.getoption("--controller-plant")
    history, verdict, kinds, recovered = run(tmp_path, rounds, seed, planted)
    reliability_report.add(
        "controller",
        f"{len(SETS)} sets, {sum(SETS.values())} brokers",
        rounds=rounds,
        kinds=len(kinds),
        answers=sum(not seen.notified for seen in history.seen),
        notifications=sum(seen.notified for seen in history.seen),
        ids=len(history.ids),
        set_changes=len({(seen.of, seen.members_epoch) for seen in history.seen}),
        refused_stale=history.refused_stale,
        elections=verdict.elections,
        judged_elections=verdict.judged_elections,
        messages=sum(map(len, history.acknowledged.values())),
        recovered_median_s=round(statistics.median(recovered), 1),
        recovered_max_s=round(max(recovered), 1),
        violations=len(verdict.violations),
    )
    for kind, count in sorted(kinds.items()):
        reliability_report.add("controller faults", kind, injected=count)
    shown = "\n".join(map(str, verdict.violations[:20]))
    assert not verdict.violations, f"--chaos-seed={seed}\n{shown}"
    assert verdict.elections
    assert history.acknowledged.keys() == SETS.keys()

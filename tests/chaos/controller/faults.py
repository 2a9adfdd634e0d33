"""Faults of a round: each begins at once and is undone when its context ends."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from tests.chaos.controller.broker import Broker
from tests.chaos.controller.cluster import Cluster, Controller
from tests.support.etcd import Member


class Target:
    """What faults choose from."""

    def __init__(self, cluster: Cluster, brokers: Sequence[Broker], chance: random.Random) -> None:
        self.cluster = cluster
        self.brokers = brokers
        self.chance = chance

    def master(self) -> Broker:
        """The master of a random set."""
        masters = [broker for broker in self.brokers if broker.is_master and broker.is_up]
        return self.chance.choice(masters or list(self.brokers))

    def member(self) -> Member:
        return self.chance.choice(self.cluster.etcd.members)


MakeFault = Callable[[Target], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def _killed_controllers(target: Target, controllers: Sequence[Controller]) -> AsyncIterator[None]:
    for controller in controllers:
        await asyncio.to_thread(controller.kill)
    try:
        yield
    finally:
        for controller in controllers:
            controller.start()
        for controller in controllers:
            await asyncio.to_thread(controller.wait_until_listening)


@asynccontextmanager
async def _killed_members(target: Target, members: Sequence[Member]) -> AsyncIterator[None]:
    for member in members:
        await asyncio.to_thread(member.kill)
    try:
        yield
    finally:
        for member in members:
            target.cluster.etcd.restart(member)


@asynccontextmanager
async def _killed_brokers(brokers: Sequence[Broker]) -> AsyncIterator[None]:
    for broker in brokers:
        broker.kill()
    try:
        yield
    finally:
        for broker in brokers:
            await broker.start()


@asynccontextmanager
async def kill_leader(target: Target) -> AsyncIterator[None]:
    async with _killed_controllers(target, [await target.cluster.leader()]):
        yield


@asynccontextmanager
async def kill_etcd_member(target: Target) -> AsyncIterator[None]:
    async with _killed_members(target, [target.member()]):
        yield


@asynccontextmanager
async def kill_etcd_leader(target: Target) -> AsyncIterator[None]:
    async with _killed_members(target, [await asyncio.to_thread(target.cluster.etcd_leader)]):
        yield


@asynccontextmanager
async def kill_all_etcd(target: Target) -> AsyncIterator[None]:
    async with _killed_members(target, target.cluster.etcd.members):
        yield


@asynccontextmanager
async def kill_master(target: Target) -> AsyncIterator[None]:
    async with _killed_brokers([target.master()]):
        yield


@asynccontextmanager
async def kill_leader_and_master(target: Target) -> AsyncIterator[None]:
    leader = await target.cluster.leader()
    async with _killed_brokers([target.master()]), _killed_controllers(target, [leader]):
        yield


@asynccontextmanager
async def kill_host_and_master(target: Target) -> AsyncIterator[None]:
    """Controller leader, the etcd member of its host, and a master broker."""
    leader = await target.cluster.leader()
    member = target.cluster.etcd.members[leader.host.number]
    async with (
        _killed_brokers([target.master()]),
        _killed_members(target, [member]),
        _killed_controllers(target, [leader]),
    ):
        yield


@asynccontextmanager
async def kill_everything(target: Target) -> AsyncIterator[None]:
    """All controllers, all etcd members and all brokers."""
    cluster = target.cluster
    async with (
        _killed_brokers(target.brokers),
        _killed_controllers(target, cluster.controllers),
        _killed_members(target, cluster.etcd.members),
    ):
        yield


@asynccontextmanager
async def stop_leader(target: Target) -> AsyncIterator[None]:
    leader = await target.cluster.leader()
    leader.stop()
    try:
        yield
    finally:
        leader.resume()


@asynccontextmanager
async def stop_leader_and_kill_master(target: Target) -> AsyncIterator[None]:
    async with stop_leader(target), _killed_brokers([target.master()]):
        yield


@asynccontextmanager
async def stop_etcd_member(target: Target) -> AsyncIterator[None]:
    member = target.member()
    assert member.process is not None
    member.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        member.process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def freeze_master(target: Target) -> AsyncIterator[None]:
    broker = target.master()
    broker.freeze()
    try:
        yield
    finally:
        broker.thaw()


@asynccontextmanager
async def unplug_leader(target: Target) -> AsyncIterator[None]:
    """The host of the leader reaches nothing."""
    host = (await target.cluster.leader()).host
    host.unplug()
    try:
        yield
    finally:
        host.plug()


@asynccontextmanager
async def separate_leader(target: Target) -> AsyncIterator[None]:
    """The host of the leader reaches brokers, but neither the other controllers nor their etcd members."""
    host = (await target.cluster.leader()).host
    others = [other.address for other in target.cluster.network.hosts if other is not host]
    for address in others:
        host.cut(address)
    try:
        yield
    finally:
        for address in others:
            host.join(address)


@asynccontextmanager
async def separate_leader_and_kill_master(target: Target) -> AsyncIterator[None]:
    async with separate_leader(target), _killed_brokers([target.master()]):
        yield


@asynccontextmanager
async def separate_hosts(target: Target) -> AsyncIterator[None]:
    """No host reaches another: etcd has no majority, while brokers reach all controllers."""
    network = target.cluster.network
    network.isolate(*network.hosts)
    try:
        yield
    finally:
        network.rejoin(*network.hosts)


@asynccontextmanager
async def separate_two_hosts(target: Target) -> AsyncIterator[None]:
    network = target.cluster.network
    pair = target.chance.sample(network.hosts, 2)
    network.isolate(*pair)
    try:
        yield
    finally:
        network.rejoin(*pair)


@asynccontextmanager
async def cut_master_off(target: Target) -> AsyncIterator[None]:
    """A master reaches its replicas, but no controller."""
    broker, hosts = target.master(), target.cluster.network.hosts
    for host in hosts:
        host.cut(broker.host)
    try:
        yield
    finally:
        for host in hosts:
            host.join(broker.host)


FAULTS: Final[dict[str, MakeFault]] = {
    "kill -9: controller leader": kill_leader,
    "kill -9: etcd member": kill_etcd_member,
    "kill -9: etcd leader": kill_etcd_leader,
    "kill -9: all etcd members": kill_all_etcd,
    "kill -9: master": kill_master,
    "kill -9: controller leader and master": kill_leader_and_master,
    "kill -9: controller leader, etcd member and master": kill_host_and_master,
    "kill -9: everything": kill_everything,
    "SIGSTOP: controller leader": stop_leader,
    "SIGSTOP: controller leader; kill -9: master": stop_leader_and_kill_master,
    "SIGSTOP: etcd member": stop_etcd_member,
    "SIGSTOP: master": freeze_master,
    "partition: host of the leader": unplug_leader,
    "partition: leader from the other hosts": separate_leader,
    "partition: leader from the other hosts; kill -9: master": separate_leader_and_kill_master,
    "partition: all hosts from each other": separate_hosts,
    "partition: two hosts": separate_two_hosts,
    "partition: master from all controllers": cut_master_off,
}


async def inject(kind: str, target: Target, *, lasts_s: float) -> None:
    """One fault from its begin to its end."""
    async with FAULTS[kind](target):
        await asyncio.sleep(lasts_s)

"""Broker sets in controller mode over TCP: starts them, injects faults, and measures how long a set has no master."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from routebook.fleet.incidents import Incident, set_names
from routebook.fleet.live.connection import LiveConnection
from routebook.fleet.live.controlled_broker import ControlledBroker
from routebook.fleet.live.time_scale import TimeScale
from routebook.fleet.scenario import FaultKind, Scenario


class SetReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the brokers of all sets observed; times are seconds of fleet time."""

    sets: int = 0
    brokers: int = 0
    with_master: int = 0  # sets that had a master at the end
    failovers: int = 0  # injected faults after which another replica became master
    failover_max_s: float = 0.0


class ControlledSets:
    """All sets of a scenario."""

    def __init__(
        self, scenario: Scenario, connections: Callable[[], Sequence[LiveConnection]], *, time_scale: TimeScale
    ) -> None:
        """`connections` makes the connections of one broker to all Controller nodes."""
        self._time_scale = time_scale
        self._lost_at: dict[str, float] = {}
        self._failovers: list[float] = []
        self._sets: dict[str, list[ControlledBroker]] = {}
        for at, name in enumerate(set_names(scenario)):
            members: list[ControlledBroker] = []
            self._sets[name] = members
            for replica in range(1, scenario.controller.replicas + 1):
                members.append(
                    ControlledBroker(
                        name,
                        f"127.{64 + at // 200}.{at % 200 + 1}.{replica}",
                        connections(),
                        time_scale=time_scale,
                        in_sync=partial(_caught_up, members),
                        on_master=self._became_master,
                    )
                )

    async def start(self) -> None:
        """Start all brokers, those of a set one after another, so that their ids follow their order."""
        await asyncio.gather(*(self._start_set(members) for members in self._sets.values()))

    async def inject(self, incident: Incident) -> None:
        """Perform an incident; returns when it is over."""
        members = self._sets[incident.broker_set]
        master = next(
            (one for one in members if one.is_master and one.is_up and not (one.is_frozen or one.is_cut)), None
        )
        if master is None:
            return
        self._lost_at[incident.broker_set] = asyncio.get_running_loop().time()
        if incident.kind is FaultKind.MASTER_FROZEN:
            master.freeze()
            await self._time_scale.sleep(incident.lasts_ms)
            await master.thaw()
            return
        if incident.kind is FaultKind.MASTER_CUT:
            master.cut()
            await self._time_scale.sleep(incident.lasts_ms)
            await master.heal()
            return
        killed = [master]
        if incident.kind is FaultKind.SET_KILLED:
            killed = [*(one for one in members if one is not master), master]
        for one in killed:
            one.crash()
        await self._time_scale.sleep(incident.lasts_ms)
        for one in reversed(killed):
            await one.start()

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for members in self._sets.values() for one in members))

    def report(self) -> SetReport:
        return SetReport(
            sets=len(self._sets),
            brokers=sum(map(len, self._sets.values())),
            with_master=sum(any(one.is_master for one in members) for members in self._sets.values()),
            failovers=len(self._failovers),
            failover_max_s=max(self._failovers, default=0.0) * self._time_scale.scale,
        )

    async def _start_set(self, members: Sequence[ControlledBroker]) -> None:
        for one in members:
            await one.start()
            await one.has_id.wait()

    def _became_master(self, broker: ControlledBroker) -> None:
        lost_at = self._lost_at.pop(broker.broker, None)
        if lost_at is not None:
            self._failovers.append(asyncio.get_running_loop().time() - lost_at)


def _caught_up(members: Sequence[ControlledBroker]) -> list[int]:
    return sorted(one.id for one in members if one.id is not None and one.is_up and not (one.is_frozen or one.is_cut))

"""Injects the faults of a scenario into a fleet over TCP."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from routebook.client.addresses import Address
from routebook.client.client import NameServerClient
from routebook.client.signing import Credentials
from routebook.errors import RoutebookError
from routebook.fleet.incidents import Incident, TopicChange, apply_topic_change
from routebook.fleet.live.broker import LiveBroker
from routebook.fleet.live.time_scale import TimeScale
from routebook.fleet.scenario import FaultKind

Restart: TypeAlias = Callable[[int, float], Coroutine[Any, Any, None]]


class LiveFaults:
    """`inject` performs one incident from start to end."""

    def __init__(
        self,
        brokers: Sequence[LiveBroker],
        addresses: Sequence[Address],
        *,
        time_scale: TimeScale,
        now_ms: Callable[[], int],
        restart: Restart | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """`restart(index, seconds)` stops a NameServer for a while; the fleet itself cannot do that."""
        self._brokers = brokers
        self._addresses = addresses
        self._time_scale = time_scale
        self._now_ms = now_ms
        self._restart = restart
        self._credentials = credentials
        self._groups: dict[str, list[LiveBroker]] = {}
        for broker in brokers:
            self._groups.setdefault(broker.requests.member.broker, []).append(broker)

    def is_possible(self, incident: Incident) -> bool:
        return incident.kind is not FaultKind.RESTART or self._restart is not None

    async def inject(self, incident: Incident) -> None:
        """Perform an incident; returns when it is over."""
        brokers = [self._brokers[member.number] for member in incident.members]
        match incident.kind:
            case FaultKind.RESTART:
                if self._restart is not None:
                    await self._restart(incident.nameserver or 0, self._time_scale.seconds(incident.lasts_ms))
            case FaultKind.SWITCH:
                await self._switch(incident.members[0].broker)
            case FaultKind.CHURN:
                if incident.change is not None:
                    await self._churn(incident.change)
            case _:
                await asyncio.gather(*(self._inject_into(broker, incident) for broker in brokers))

    async def _inject_into(self, broker: LiveBroker, incident: Incident) -> None:
        lasts_ms, sleep = incident.lasts_ms, self._time_scale.sleep
        match incident.kind:
            case FaultKind.CRASH:
                broker.vanish() if incident.silent else broker.crash()
                await sleep(lasts_ms)
                await broker.start()
            case FaultKind.STOP:
                began = asyncio.get_running_loop().time()
                await broker.stop()
                lasted_s = asyncio.get_running_loop().time() - began
                await asyncio.sleep(max(0.0, self._time_scale.seconds(lasts_ms) - lasted_s))
                await broker.start()
            case FaultKind.FREEZE:
                broker.freeze()
                await sleep(lasts_ms)
                broker.thaw()
            case FaultKind.CUT:
                connection = broker.connections[incident.nameserver or 0]
                connection.cut()
                await sleep(lasts_ms)
                await connection.heal()
            case FaultKind.SLOW:
                broker.delay_ms = incident.delay_ms
                await sleep(lasts_ms)
                broker.delay_ms = 0
            case FaultKind.FLAP:
                at_ms = incident.at_ms
                for down, up in incident.downs:
                    await sleep(down - at_ms)
                    broker.crash()
                    await sleep(up - down)
                    await broker.start()
                    at_ms = up

    async def _switch(self, group: str) -> None:
        """Swap master and slave."""
        old, new = sorted(self._groups[group], key=_rank)[:2]
        old.requests.demote(new.requests.promote(self._now_ms()), new.requests)
        await new.register()
        await old.register()

    async def _churn(self, change: TopicChange) -> None:
        name, now_ms = change.topic.topic_name, self._now_ms()
        for group in change.groups:
            apply_topic_change([broker.requests for broker in self._groups[group]], change, now_ms)
        if change.deleted:
            await self._delete(name)
        else:
            masters = [min(self._groups[group], key=_rank) for group in change.groups]
            await asyncio.gather(*(master.announce([name]) for master in masters))

    async def _delete(self, topic: str) -> None:
        """Delete a topic at every NameServer, like mqadmin. A NameServer that does not answer keeps the topic."""
        try:
            async with NameServerClient(self._addresses, credentials=self._credentials) as admin:
                await admin.everywhere(lambda server: server.delete_topic(topic))
        except RoutebookError:
            return


def _rank(broker: LiveBroker) -> int:
    return broker.requests.broker_id

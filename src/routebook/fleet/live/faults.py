"""What incidents do to a fleet over TCP."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias

from routebook.client.addresses import Address
from routebook.client.client import NameServerClient
from routebook.client.signing import Credentials
from routebook.codes import MASTER_ID
from routebook.errors import RoutebookError
from routebook.fleet.broker_requests import BrokerVoice
from routebook.fleet.incidents import Incident, TopicChange
from routebook.fleet.live.broker import LiveBroker
from routebook.fleet.live.pace import Pace
from routebook.fleet.scenario import FaultKind

Restart: TypeAlias = Callable[[int, float], Coroutine[Any, Any, None]]


class LiveFaults:
    """`befall` does one incident from its beginning to its end."""

    def __init__(
        self,
        brokers: Sequence[LiveBroker],
        addresses: Sequence[Address],
        *,
        pace: Pace,
        now_ms: Callable[[], int],
        restart: Restart | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """`restart` stops a NameServer, by its place, for so many seconds; a fleet by itself cannot."""
        self._brokers = brokers
        self._addresses = addresses
        self._pace = pace
        self._now_ms = now_ms
        self._restart = restart
        self._credentials = credentials
        self._groups: dict[str, list[LiveBroker]] = {}
        for broker in brokers:
            self._groups.setdefault(broker.voice.member.broker, []).append(broker)

    def is_possible(self, incident: Incident) -> bool:
        return incident.kind is not FaultKind.RESTART or self._restart is not None

    async def befall(self, incident: Incident) -> None:
        """One incident; returns when it is over."""
        brokers = [self._brokers[member.number] for member in incident.members]
        match incident.kind:
            case FaultKind.RESTART:
                if self._restart is not None:
                    await self._restart(incident.nameserver or 0, self._pace.s(incident.lasts_ms))
            case FaultKind.SWITCH:
                await self._switch(incident.members[0].broker)
            case FaultKind.CHURN:
                if incident.change is not None:
                    await self._churn(incident.change)
            case _:
                await asyncio.gather(*(self._one(broker, incident) for broker in brokers))

    async def _one(self, broker: LiveBroker, incident: Incident) -> None:
        lasts_ms = incident.lasts_ms
        match incident.kind:
            case FaultKind.CRASH:
                broker.vanish() if incident.silent else broker.crash()
                await self._pace.sleep(lasts_ms)
                await broker.start()
            case FaultKind.STOP:
                began = asyncio.get_running_loop().time()
                await broker.stop()
                lasted_s = asyncio.get_running_loop().time() - began
                await asyncio.sleep(max(0.0, self._pace.s(lasts_ms) - lasted_s))
                await broker.start()
            case FaultKind.FREEZE:
                broker.freeze()
                await self._pace.sleep(lasts_ms)
                broker.thaw()
            case FaultKind.CUT:
                line = broker.lines[incident.nameserver or 0]
                line.cut()
                await self._pace.sleep(lasts_ms)
                await line.heal()
            case FaultKind.SLOW:
                broker.delay_ms = incident.delay_ms
                await self._pace.sleep(lasts_ms)
                broker.delay_ms = 0
            case FaultKind.FLAP:
                at_ms = incident.at_ms
                for down, up in incident.downs:
                    await self._pace.sleep(down - at_ms)
                    broker.crash()
                    await self._pace.sleep(up - down)
                    await broker.start()
                    at_ms = up

    async def _switch(self, group: str) -> None:
        """Master and slave change places, in a new epoch."""
        old, new = sorted(self._groups[group], key=_rank)[:2]
        _swap(old.voice, new.voice, self._now_ms())
        await new.register()
        await old.register()

    async def _churn(self, change: TopicChange) -> None:
        name, now_ms = change.topic.topic_name, self._now_ms()
        masters: Mapping[str, LiveBroker] = {group: min(self._groups[group], key=_rank) for group in change.groups}
        for group, master in masters.items():
            if change.deleted:
                master.voice.drop_topics([name], now_ms)
            else:
                master.voice.put_topics([change.topic], now_ms)
            for broker in self._groups[group]:
                if broker is not master:
                    broker.voice.follow(master.voice)
        if change.deleted:
            await self._delete(name)
        else:
            await asyncio.gather(*(master.announce([name]) for master in masters.values()))

    async def _delete(self, topic: str) -> None:
        """As mqadmin does, at every NameServer; one that does not answer keeps the topic, as with mqadmin."""
        try:
            async with NameServerClient(self._addresses, credentials=self._credentials) as admin:
                await admin.everywhere(lambda server: server.delete_topic(topic))
        except RoutebookError:
            return


def _rank(broker: LiveBroker) -> int:
    return broker.voice.broker_id


def _swap(old: BrokerVoice, new: BrokerVoice, now_ms: int) -> None:
    epoch, slave_id = new.version.state_version + 1, new.broker_id
    new.take_role(MASTER_ID, epoch=epoch, now_ms=now_ms)
    old.take_role(slave_id, epoch=epoch, now_ms=now_ms)
    old.follow(new)

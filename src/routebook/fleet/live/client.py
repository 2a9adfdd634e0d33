"""A simulated client over TCP: polls the routes of its topics like its client library and records the results."""

import asyncio
from collections.abc import Sequence
from itertools import cycle
from typing import Final

from routebook.client.addresses import Address
from routebook.client.client import NameServerClient
from routebook.client.queues import publish_queues
from routebook.client.signing import Credentials
from routebook.codes import RequestCode, ResponseCode
from routebook.errors import ConnectionFailed, MalformedRoute, ProtocolError
from routebook.fleet.live.connection import TrafficCounters
from routebook.fleet.live.observations import Observations
from routebook.fleet.live.time_scale import TimeScale
from routebook.fleet.population import FleetClient
from routebook.wire.command import Command
from routebook.wire.reply_bodies import decode_route

_RETRY_MS: Final = 1_000  # a producer without a route repeats the look-up before every send
_TIMEOUT_S: Final = 3.0
_DEFAULT_TOPIC: Final = "TBW102"
_RETRY_PREFIX: Final = "%RETRY%"  # retry topics are looked up but not observed


class LiveClient:
    """Runs until its task is cancelled."""

    def __init__(
        self,
        client: FleetClient,
        addresses: Sequence[Address],
        *,
        poll_ms: float,
        time_scale: TimeScale,
        traffic: TrafficCounters,
        observations: Observations,
        credentials: Credentials | None = None,
    ) -> None:
        home = client.number % len(addresses)
        self._order = (*addresses[home:], *addresses[:home])
        self._client = client
        self._poll_ms = poll_ms
        self._time_scale = time_scale
        self._traffic = traffic
        self._observations = observations
        self._credentials = credentials
        self._roaming = cycle(self._order)
        self._known: set[str] = set()
        self._missing: dict[str, None] = {}  # topics without a route, an ordered set

    async def run(self) -> None:
        """Poll all topics, those without a route every second."""
        clock = asyncio.get_running_loop().time
        async with NameServerClient(
            self._order, timeout_s=_TIMEOUT_S, shuffle=False, credentials=self._credentials
        ) as nameservers:
            await self._time_scale.sleep(self._client.phase * self._poll_ms)
            due = clock()
            while True:
                if clock() >= due:
                    due += self._time_scale.seconds(self._poll_ms)
                    topics: Sequence[str] = self._client.topics_asked
                else:
                    topics = list(self._missing)
                for topic in topics:
                    await self._look_up(nameservers, topic)
                wait = due - clock()
                if self._missing:
                    wait = min(wait, self._time_scale.seconds(_RETRY_MS))
                await asyncio.sleep(max(0.0, wait))

    async def _look_up(self, nameservers: NameServerClient, topic: str) -> None:
        answer = await self._ask(nameservers, topic)
        if topic.startswith(_RETRY_PREFIX):
            return
        number, now_s = self._client.number, asyncio.get_running_loop().time()
        if answer is None:
            self._observations.failed(topic, number, now_s)
            if topic not in self._known:
                self._missing[topic] = None
            return
        found = answer.code == ResponseCode.SUCCESS
        self._observations.answered(
            topic, number, now_s, route=found, writable=found and _is_writable(topic, answer.body)
        )
        if found:
            self._known.add(topic)
            self._missing.pop(topic, None)
            return
        self._missing[topic] = None
        if self._client.profile.asks_for_default:
            await self._ask(nameservers, _DEFAULT_TOPIC)

    async def _ask(self, nameservers: NameServerClient, topic: str) -> Command | None:
        profile = self._client.profile
        ext: dict[str, str | None] = {"topic": topic, **profile.ext}
        remark = "" if profile.empty_remark else None
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        command = Command(code, 0, 0, profile.version, profile.language, remark, ext)
        self._traffic.requests[code] += 1
        # a roaming client starts with another NameServer each time and tries each of them once
        targets = [nameservers.at(next(self._roaming)) for _ in self._order] if profile.roams else [nameservers]
        if profile.roams:
            next(self._roaming)
        for target in targets:
            try:
                answer = await target.call(command)
            except ConnectionFailed:
                self._traffic.failures += 1
                continue
            self._traffic.answers[answer.code] += 1
            return answer
        return None


def _is_writable(topic: str, body: bytes | None) -> bool:
    try:
        return bool(publish_queues(topic, decode_route(body)).queues)
    except (ProtocolError, MalformedRoute):
        return False

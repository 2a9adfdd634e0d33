"""A make-believe client over TCP: it polls the routes of its topics as its kind does, and remembers what it saw."""

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
from routebook.fleet.live.observations import Sightings
from routebook.fleet.live.pace import Pace
from routebook.fleet.live.traffic import Traffic
from routebook.fleet.population import FleetClient
from routebook.wire.command import Command
from routebook.wire.reply_bodies import decode_route

_RETRY_MS: Final = 1_000  # a producer without a route looks again before every send
_TIMEOUT_S: Final = 3.0
_DEFAULT_TOPIC: Final = "TBW102"
_NOT_NAMED: Final = "%RETRY%"  # nobody waits for these


class LiveClient:
    """Runs until its task is cancelled."""

    def __init__(
        self,
        client: FleetClient,
        addresses: Sequence[Address],
        *,
        poll_ms: float,
        pace: Pace,
        traffic: Traffic,
        sightings: Sightings,
        credentials: Credentials | None = None,
    ) -> None:
        home = client.number % len(addresses)
        self._order = (*addresses[home:], *addresses[:home])
        self._client = client
        self._poll_ms = poll_ms
        self._pace = pace
        self._traffic = traffic
        self._sightings = sightings
        self._credentials = credentials
        self._roaming = cycle(self._order)
        self._known: set[str] = set()
        self._missing: dict[str, None] = {}  # looked for again soon

    async def run(self) -> None:
        """Poll every topic in turn, those without a route every second."""
        clock = asyncio.get_running_loop().time
        async with NameServerClient(
            self._order, timeout_s=_TIMEOUT_S, shuffle=False, credentials=self._credentials
        ) as nameservers:
            await self._pace.sleep(self._client.phase * self._poll_ms)
            due = clock()
            while True:
                if clock() >= due:
                    due += self._pace.s(self._poll_ms)
                    topics: Sequence[str] = self._client.topics_asked
                else:
                    topics = list(self._missing)
                for topic in topics:
                    await self._look_up(nameservers, topic)
                wait = due - clock()
                if self._missing:
                    wait = min(wait, self._pace.s(_RETRY_MS))
                await asyncio.sleep(max(0.0, wait))

    async def _look_up(self, nameservers: NameServerClient, topic: str) -> None:
        answer = await self._ask(nameservers, topic)
        if topic.startswith(_NOT_NAMED):
            return
        number, now_s = self._client.number, asyncio.get_running_loop().time()
        if answer is None:
            self._sightings.failed(topic, number, now_s)
            if topic not in self._known:
                self._missing[topic] = None
            return
        found = answer.code == ResponseCode.SUCCESS
        self._sightings.saw(topic, number, now_s, route=found, writable=found and _is_writable(topic, answer.body))
        if found:
            self._known.add(topic)
            self._missing.pop(topic, None)
            return
        self._missing[topic] = None
        if self._client.persona.asks_for_default:
            await self._ask(nameservers, _DEFAULT_TOPIC)

    async def _ask(self, nameservers: NameServerClient, topic: str) -> Command | None:
        persona = self._client.persona
        ext: dict[str, str | None] = {"topic": topic, **persona.ext}
        remark = "" if persona.empty_remark else None
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        command = Command(code, 0, 0, persona.version, persona.language, remark, ext)
        self._traffic.requests[code] += 1
        # a roaming one begins with another NameServer each time, and tries each of them once
        targets = [nameservers.at(next(self._roaming)) for _ in self._order] if persona.roams else [nameservers]
        if persona.roams:
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

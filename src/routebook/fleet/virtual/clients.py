"""Clients in virtual time: counts route look-ups in closed form between two changes of routes."""

from collections.abc import Sequence
from typing import Final

import msgspec

from routebook.codes import RequestCode
from routebook.events import LookupMinute
from routebook.fleet.client_profiles import ClientProfile
from routebook.fleet.population import FleetClient
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.handlers import Caller, dispatch
from routebook.rollup import LookupKey, LookupRollup
from routebook.wire.command import Command

_NO_CONNECTION: Final = -1


class _Poll(msgspec.Struct, gc=False):
    """A client polls the route of one topic at `phase_ms` and then every `period_ms`."""

    key: LookupKey
    profile: ClientProfile
    phase_ms: int
    period_ms: int
    home: int  # index of the NameServer it uses first
    roams: bool


class VirtualClients:
    """All clients. `advance` counts polls up to a time, before routes change; `take` ends a minute."""

    def __init__(self, clients: Sequence[FleetClient], *, poll_ms: int, nameservers: int, start_ms: int) -> None:
        self._rollups = [LookupRollup(max_keys=1 << 20) for _ in range(nameservers)]
        self._since = [start_ms] * nameservers
        self._answers: list[dict[tuple[str, int], int | None]] = [{} for _ in range(nameservers)]
        self._stamps = [-1] * nameservers
        self._polls = [poll for client in clients for poll in _polls(client, poll_ms, nameservers, start_ms)]
        self._asked: list[list[_Poll]] = [[] for _ in range(nameservers)]
        self._up = [True] * nameservers
        self._spread()

    def advance(self, ns: VirtualNameServer, now_ms: int) -> None:
        """Count all polls since the last call; their answers are those of the current tables."""
        number = ns.number
        since = self._since[number]
        if now_ms <= since:
            return
        rollup = self._rollups[number]
        for poll in self._asked[number]:
            phase, period = poll.phase_ms, poll.period_ms
            count = (now_ms - phase) // period - (since - phase) // period
            if count:
                size = self._size(ns, poll, now_ms)
                row = rollup.row(poll.key)
                if row is not None:
                    row[0] += count
                    if size is None:
                        row[1] += count
                    else:
                        row[2] += count * size
        self._since[number] = now_ms

    def take(self, ns: VirtualNameServer, minute_ms: int) -> list[LookupMinute]:
        """Return the rollups of a minute, in an order that does not depend on when they were counted."""
        return sorted(self._rollups[ns.number].take(minute_ms), key=lambda row: (row.client, row.topic))

    def set_nameserver_up(self, ns: VirtualNameServer, now_ms: int, *, up: bool) -> None:
        """Mark a NameServer as up or down; its clients move to the next one. All must have been advanced before."""
        self._up[ns.number] = up
        self._since[ns.number] = now_ms
        if not up:
            for poll in self._polls:
                if not poll.roams and poll.home == ns.number:
                    poll.home = self._next_up(poll.home)
        self._spread()

    def _next_up(self, number: int) -> int:
        count = len(self._up)
        following = ((number + step) % count for step in range(1, count + 1))
        return next((other for other in following if self._up[other]), number)

    def _spread(self) -> None:
        count = len(self._asked)
        self._asked = [[] for _ in range(count)]
        for poll in self._polls:
            if not poll.roams:
                self._asked[poll.home].append(poll)
                continue
            for turn in range(count):  # another NameServer each time
                own = msgspec.structs.replace(
                    poll, phase_ms=poll.phase_ms + turn * poll.period_ms, period_ms=poll.period_ms * count
                )
                self._asked[(poll.home + turn) % count].append(own)

    def _size(self, ns: VirtualNameServer, poll: _Poll, now_ms: int) -> int | None:
        """Return the size of the answer; None without a route."""
        answers = self._answers[ns.number]
        if self._stamps[ns.number] != ns.changes:
            self._stamps[ns.number] = ns.changes
            answers.clear()
        key = (poll.key.topic, poll.profile.version)
        if key not in answers:
            ext: dict[str, str | None] = {"topic": poll.key.topic, **poll.profile.ext}
            version, language = poll.profile.version, poll.profile.language
            command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 0, 0, version, language, None, ext)
            reply = dispatch(ns.running, command, Caller(_NO_CONNECTION, poll.key.client), now_ms).reply
            answers[key] = None if reply is None or reply.body is None else len(reply.body)
        return answers[key]


def _polls(client: FleetClient, poll_ms: int, nameservers: int, start_ms: int) -> list[_Poll]:
    profile = client.profile
    host = f"127.32.{client.number // 250}.{client.number % 250 + 1}"
    phase_ms = start_ms + int(client.phase * poll_ms)
    home = client.number % nameservers
    return [
        _Poll(
            LookupKey(topic, host, profile.language, profile.version),
            profile,
            phase_ms + order,  # topics one after the other
            poll_ms,
            home,
            profile.roams,
        )
        for order, topic in enumerate(client.topics_asked)
    ]

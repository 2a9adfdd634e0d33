"""Ordinary life in virtual time: brokers register and keep their lease, clients poll, minutes turn, NameServers scan.

Brokers that are in step with a NameServer cost nothing between two minutes. Whatever concerns them takes them out of
step: then every beat is a request to the core, until all is as before.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from routebook.effects import CloseConnection
from routebook.events import BrokerDown, DownReason, Event, HeartbeatMinute, LookupMinute, TopicDeleted
from routebook.fleet.broker_requests import BrokerVoice
from routebook.fleet.population import Census
from routebook.fleet.scenario import Scenario
from routebook.fleet.virtual.broker import VirtualBroker, VirtualLine
from routebook.fleet.virtual.clients import VirtualClients
from routebook.fleet.virtual.clock import VirtualTime
from routebook.fleet.virtual.heartbeats import Jitter, Rhythm
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.handlers import Outcome
from routebook.wire.command import Command

MINUTE_MS: Final = 60_000
_HEARTBEAT_MS: Final = 1_000  # brokerHeartbeatInterval, in acting-master mode
_FIRST_REGISTER_MS: Final = 10_000  # after the one at the start
_CLUSTER_QUERY_MS: Final = 5_000  # 106, to one of the NameServers: that connection is not idle


class VirtualFleet:
    """All brokers and clients, and the NameServers they talk to."""

    def __init__(
        self,
        scenario: Scenario,
        census: Census,
        nameservers: Sequence[VirtualNameServer],
        time: VirtualTime,
        *,
        seed: int,
        start_ms: int,
    ) -> None:
        terms = scenario.brokers
        self.time = time
        self.nameservers = nameservers
        self.brokers: list[VirtualBroker] = []
        self.groups: dict[str, list[VirtualBroker]] = {}
        self.clients = VirtualClients(
            census.clients,
            poll_ms=int(scenario.clients.poll_every),
            nameservers=len(nameservers),
            start_ms=start_ms,
        )
        self.acting = terms.acting_master != "off"
        self.register_ms = int(terms.register_every)
        self.beat_ms = _HEARTBEAT_MS if self.acting else self.register_ms
        self._force = terms.force_register
        self._scanning = [False] * len(nameservers)
        self._watched: list[dict[VirtualLine, None]] = [{} for _ in nameservers]
        self._scan_until = [0] * len(nameservers)
        jitter = Jitter(seed, self.beat_ms)
        for group in census.groups:
            for member in group.members:
                broker = VirtualBroker(BrokerVoice(member, terms, group.topics, now_ms=start_ms))
                for ns in nameservers:
                    rhythm = Rhythm(jitter, base_ms=start_ms, offset=time.draw.randrange(1 << 12))
                    broker.lines.append(VirtualLine(broker, ns, rhythm))
                self.brokers.append(broker)
                self.groups.setdefault(group.name, []).append(broker)

    def lines_to(self, ns: VirtualNameServer) -> Iterable[VirtualLine]:
        """Of all brokers, in order."""
        return [broker.lines[ns.number] for broker in self.brokers]

    # minutes

    def turn_minutes(self, now_ms: int) -> None:
        """A minute is over, everywhere; and the next one will be."""
        for ns in self.nameservers:
            if ns.core is not None:
                self.end_minute(ns, now_ms - MINUTE_MS, now_ms)
                for line in self.lines_to(ns):
                    if not line.in_step and self._is_regular(line, now_ms):
                        line.fall_in()
        self.time.at(now_ms + MINUTE_MS, self.turn_minutes)

    def end_minute(self, ns: VirtualNameServer, minute_ms: int, now_ms: int) -> None:
        """What was counted in the minute that began at `minute_ms` goes to the journal."""
        number = ns.number
        rows: list[HeartbeatMinute | LookupMinute] = []
        for broker in self.brokers:
            line = broker.lines[number]
            if line.in_step:
                row = line.row(minute_ms, now_ms)
                if row is not None:
                    rows.append(row)
            else:
                rows += line.rollup.take(minute_ms)
        self.clients.advance(ns, now_ms)
        rows += self.clients.take(ns, minute_ms)
        ns.journal.append(rows, now_ms)
        ns.running.meter.take(minute_ms)  # the core counts, too, what it is really asked: that is in the rows above

    def _is_regular(self, line: VirtualLine, now_ms: int) -> bool:
        """Whether the next beats will come in time, and change nothing but the lease."""
        broker = line.broker
        if line.is_silent or broker.slow_ms or line.connection is None or line.next_k < 1:
            return False
        if line.last_ms != line.rhythm.at(line.next_k - 1) or line.rhythm.at(line.next_k) < now_ms:
            return False
        routes, voice = line.ns.running.routes, broker.voice
        lease = routes.lease_table.get(voice.key)
        group = routes.group(voice.member.broker)
        if lease is None or group is None:
            return False
        seat = lease.memberships.get(voice.member.broker)
        if seat is None or seat.connection != line.connection:
            return False
        if not self._force:
            return not routes.is_changed(voice.key, voice.version)
        return line.ns.running.registrations.is_renewable(routes, voice.key)

    # in and out of step

    def happened(self, ns: VirtualNameServer, events: tuple[Event, ...], now_ms: int) -> None:
        """A NameServer tells: whom it concerns falls out of step, for its next beat may not be like the last."""
        for event in events:
            for name in _groups_of(event):
                for broker in self.groups.get(name, ()):
                    line = broker.lines[ns.number]
                    self.fall_out(line, now_ms)
                    if isinstance(event, BrokerDown) and event.addr == broker.voice.addr:
                        line.rollup.left(broker.voice.key)

    def fall_out(self, line: VirtualLine, now_ms: int) -> None:
        """From now on each beat counts."""
        if line.fall_out(now_ms):
            line.void()
            self.plan_beat(line, now_ms)

    def plan_beat(self, line: VirtualLine, now_ms: int) -> None:
        """The next beat, if nothing comes between."""
        if line.is_silent:
            return
        line.next_k = max(line.next_k, line.rhythm.first_from(now_ms + 1))
        at_ms = line.rhythm.at(line.next_k)
        if line.broker.slow_ms:
            at_ms += self.time.draw.randrange(line.broker.slow_ms)
        self.time.for_line(line, max(at_ms, now_ms + 1), self._beat)

    # a broker's life

    def begin(self, broker: VirtualBroker, now_ms: int) -> None:
        """The process starts: it registers at once, after ten seconds, and from then on in its rhythm."""
        broker.alive, broker.frozen, broker.slow_ms = True, False, 0
        for line in broker.lines:
            line.rhythm.base_ms = now_ms + (_HEARTBEAT_MS if self.acting else _FIRST_REGISTER_MS)
            line.next_k = 0
            line.void()
            self.unwatch(line)
            self.time.soon_for(line, now_ms, self.come_back)

    def come_back(self, line: VirtualLine, now_ms: int) -> None:
        """Connect and register at once."""
        if line.ns.core is not None and not line.cut:
            self.connect(line, now_ms)
            self.register(line, now_ms, force=True)
        self.plan_beat(line, now_ms)

    def register(self, line: VirtualLine, now_ms: int, *, force: bool = False, counted: bool = False) -> None:
        """Say what a broker says every half minute. `counted`: a heartbeat came with it."""
        voice = line.broker.voice
        if force or self._force or self._is_wanted(line, now_ms):
            for command in voice.registration():
                self.say(line, command, now_ms)
        if not counted and line.ns.running.routes.has_lease(voice.key):
            line.beat(now_ms)

    def _is_wanted(self, line: VirtualLine, now_ms: int) -> bool:
        """forceRegister=false: ask first whether there is news."""
        reply = self.say(line, line.broker.voice.version_query(oneway=False), now_ms).reply
        return reply is None or reply.ext is None or reply.ext.get("changed") != "false"

    def say(self, line: VirtualLine, command: Command, now_ms: int) -> Outcome:
        """One request, over this line."""
        self.clients.advance(line.ns, now_ms)
        return line.ns.request(command, line.caller, now_ms)

    def registers_at(self, k: int) -> bool:
        """Whether a registration comes with this beat. With a heartbeat it is counted as one sign of life."""
        if not self.acting:
            return True
        since_start_ms = (k + 1) * _HEARTBEAT_MS - _FIRST_REGISTER_MS
        return since_start_ms >= 0 and since_start_ms % self.register_ms == 0

    def _beat(self, line: VirtualLine, now_ms: int) -> None:
        k = line.next_k
        line.next_k += 1
        if line.connection is not None and line.ns.core is not None:
            if self.acting:
                self.say(line, line.broker.voice.heartbeat(), now_ms)
                line.beat(now_ms)
            if self.registers_at(k):
                self.register(line, now_ms, counted=self.acting)
        self.plan_beat(line, now_ms)

    # connections

    def connect(self, line: VirtualLine, now_ms: int) -> None:
        """A new connection, whatever became of the old one."""
        before = line.connection
        line.connection = line.ns.connect()
        if before is not None:  # of a machine that went without a word: the NameServer finds it dead by and by
            self.time.at(now_ms + MINUTE_MS, partial(self._lose, line.ns, before, DownReason.CLOSED))

    def hang_up(self, line: VirtualLine, now_ms: int, reason: DownReason = DownReason.CLOSED) -> None:
        """The NameServer sees the connection end."""
        connection, line.connection = line.connection, None
        if connection is not None:
            self._lose(line.ns, connection, reason, now_ms)

    def _lose(self, ns: VirtualNameServer, connection: int, reason: DownReason, now_ms: int) -> None:
        if ns.core is not None:
            self.clients.advance(ns, now_ms)
            ns.connection_lost(connection, reason, now_ms)

    # silence

    def watch(self, line: VirtualLine, now_ms: int) -> None:
        """Nothing comes over this line any more: it will be idle, and the lease run out."""
        ns = line.ns
        if line.connection is None or ns.core is None:
            return
        self._watched[ns.number][line] = None
        last_ms = line.last_ms
        if ns.number == 0:  # where it asks for the cluster, too
            last_ms = max(last_ms, now_ms - self.time.draw.randrange(_CLUSTER_QUERY_MS))
        self.time.for_line(line, max(now_ms, last_ms + ns.idle_ms), self._is_idle)
        self._plan_scan(ns, now_ms)

    def unwatch(self, line: VirtualLine) -> None:
        """It is heard of again."""
        self._watched[line.ns.number].pop(line, None)

    def scan_for(self, ns: VirtualNameServer, lasts_ms: int, now_ms: int) -> None:
        """Brokers of before a restart may not return: scan until their lease is over."""
        self._scan_until[ns.number] = now_ms + lasts_ms + 2 * ns.scan_ms
        self._watched[ns.number].clear()
        self._plan_scan(ns, now_ms)

    def _is_idle(self, line: VirtualLine, now_ms: int) -> None:
        self.hang_up(line, now_ms, DownReason.IDLE)

    def _plan_scan(self, ns: VirtualNameServer, now_ms: int) -> None:
        if not self._scanning[ns.number]:
            self._scanning[ns.number] = True
            self.time.at(ns.next_scan_ms(now_ms), partial(self._scan, ns))

    def _scan(self, ns: VirtualNameServer, now_ms: int) -> None:
        """Real NameServers scan every five seconds; here only while it matters."""
        self._scanning[ns.number] = False
        if ns.core is None:
            return
        routes = ns.core.routes
        for line in self.lines_to(ns):
            if line.in_step:
                routes.heartbeat(line.broker.voice.key, line.last_beat(now_ms))
        self.clients.advance(ns, now_ms)
        outcome = ns.scan(now_ms)
        closing = {effect.connection for effect in outcome.effects if isinstance(effect, CloseConnection)}
        if closing:
            for line in self.lines_to(ns):
                if line.connection in closing:
                    self.hang_up(line, now_ms, DownReason.EXPIRED)
        watched = self._watched[ns.number]
        for line in [line for line in watched if not routes.has_lease(line.broker.voice.key)]:
            del watched[line]
        if watched or now_ms < self._scan_until[ns.number] or ns.core.preservation.since_ms is not None:
            self._plan_scan(ns, now_ms)


def _groups_of(event: Event) -> Iterable[str]:
    if isinstance(event, TopicDeleted):
        return event.brokers
    name: str | None = getattr(event, "broker", None)
    return () if name is None else (name,)

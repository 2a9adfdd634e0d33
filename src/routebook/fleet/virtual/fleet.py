"""Normal operation in virtual time: brokers register and send heartbeats, clients poll, NameServers scan.

Connections in steady state cost nothing between two minutes. Every event that affects a broker ends its steady state:
then each heartbeat is a request to the core, until the connection is regular again.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from routebook.effects import CloseConnection
from routebook.events import BrokerDown, DownReason, Event, HeartbeatMinute, LookupMinute, TopicDeleted
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.population import Population
from routebook.fleet.scenario import Scenario
from routebook.fleet.virtual.broker import VirtualBroker, VirtualConnection
from routebook.fleet.virtual.clients import VirtualClients
from routebook.fleet.virtual.clock import VirtualClock
from routebook.fleet.virtual.heartbeats import HeartbeatSchedule, Jitter
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.handlers import Outcome
from routebook.wire.command import Command

MINUTE_MS: Final = 60_000
_HEARTBEAT_MS: Final = 1_000  # brokerHeartbeatInterval, in acting-master mode
_FIRST_REGISTER_MS: Final = 10_000  # after the one at the start
_CLUSTER_QUERY_MS: Final = 5_000  # 106 to one NameServer keeps that connection from being idle


class VirtualFleet:
    """All brokers and clients, and the NameServers they use."""

    def __init__(
        self,
        scenario: Scenario,
        population: Population,
        nameservers: Sequence[VirtualNameServer],
        clock: VirtualClock,
        *,
        seed: int,
        start_ms: int,
    ) -> None:
        terms = scenario.brokers
        self.clock = clock
        self.nameservers = nameservers
        self.brokers: list[VirtualBroker] = []
        self.groups: dict[str, list[VirtualBroker]] = {}
        self.clients = VirtualClients(
            population.clients,
            poll_ms=int(scenario.clients.poll_every),
            nameservers=len(nameservers),
            start_ms=start_ms,
        )
        self.acting = terms.acting_master != "off"
        self.register_ms = int(terms.register_every)
        self.beat_ms = _HEARTBEAT_MS if self.acting else self.register_ms
        self._force = terms.force_register
        self._scanning = [False] * len(nameservers)
        self._watched: list[dict[VirtualConnection, None]] = [{} for _ in nameservers]
        self._scan_until = [0] * len(nameservers)
        jitter = Jitter(seed, self.beat_ms)
        for group in population.groups:
            for member in group.members:
                broker = VirtualBroker(BrokerRequests(member, terms, group.topics, now_ms=start_ms))
                for ns in nameservers:
                    schedule = HeartbeatSchedule(jitter, base_ms=start_ms, offset=clock.rng.randrange(1 << 12))
                    broker.connections.append(VirtualConnection(broker, ns, schedule))
                self.brokers.append(broker)
                self.groups.setdefault(group.name, []).append(broker)

    def connections_to(self, ns: VirtualNameServer) -> Iterable[VirtualConnection]:
        """Return the connections of all brokers, in order."""
        return [broker.connections[ns.number] for broker in self.brokers]

    # minutes

    def end_minutes(self, now_ms: int) -> None:
        """End the minute at all NameServers and schedule the next end."""
        for ns in self.nameservers:
            if ns.core is not None:
                self.end_minute(ns, now_ms - MINUTE_MS, now_ms)
                for conn in self.connections_to(ns):
                    if not conn.is_steady and self._is_regular(conn, now_ms):
                        conn.enter_steady_state()
        self.clock.call_at(now_ms + MINUTE_MS, self.end_minutes)

    def end_minute(self, ns: VirtualNameServer, minute_ms: int, now_ms: int) -> None:
        """Write the rollups of the minute that began at `minute_ms` to the journal."""
        number = ns.number
        rows: list[HeartbeatMinute | LookupMinute] = []
        for broker in self.brokers:
            conn = broker.connections[number]
            if conn.is_steady:
                row = conn.row(minute_ms, now_ms)
                if row is not None:
                    rows.append(row)
            else:
                rows += conn.rollup.take(minute_ms)
        self.clients.advance(ns, now_ms)
        rows += self.clients.take(ns, minute_ms)
        ns.journal.append(rows, now_ms)
        ns.running.meter.take(minute_ms)  # discard: the core's own counts are included above

    def _is_regular(self, conn: VirtualConnection, now_ms: int) -> bool:
        """Whether the next heartbeats will be on time and only renew the lease."""
        broker = conn.broker
        if conn.is_silent or broker.slow_ms or conn.connection_id is None or conn.next_k < 1:
            return False
        if conn.last_ms != conn.schedule.at(conn.next_k - 1) or conn.schedule.at(conn.next_k) < now_ms:
            return False
        routes, requests = conn.ns.running.routes, broker.requests
        lease = routes.lease_table.get(requests.key)
        group = routes.group(requests.member.broker)
        if lease is None or group is None:
            return False
        membership = lease.memberships.get(requests.member.broker)
        if membership is None or membership.connection != conn.connection_id:
            return False
        if not self._force:
            return not routes.is_changed(requests.key, requests.version)
        return conn.ns.running.registrations.is_renewable(routes, requests.key)

    # steady state

    def on_events(self, ns: VirtualNameServer, events: tuple[Event, ...], now_ms: int) -> None:
        """React to events of a NameServer: affected brokers leave steady state, as their next heartbeat may differ."""
        for event in events:
            for name in _groups_of(event):
                for broker in self.groups.get(name, ()):
                    conn = broker.connections[ns.number]
                    self.leave_steady_state(conn, now_ms)
                    if isinstance(event, BrokerDown) and event.addr == broker.requests.addr:
                        conn.rollup.forget(broker.requests.key)

    def leave_steady_state(self, conn: VirtualConnection, now_ms: int) -> None:
        """Process each heartbeat from now on."""
        if conn.leave_steady_state(now_ms):
            conn.cancel_planned()
            self.plan_beat(conn, now_ms)

    def plan_beat(self, conn: VirtualConnection, now_ms: int) -> None:
        """Schedule the next heartbeat."""
        if conn.is_silent:
            return
        conn.next_k = max(conn.next_k, conn.schedule.first_from(now_ms + 1))
        at_ms = conn.schedule.at(conn.next_k)
        if conn.broker.slow_ms:
            at_ms += self.clock.rng.randrange(conn.broker.slow_ms)
        self.clock.call_at_for(conn, max(at_ms, now_ms + 1), self._beat)

    # registration and heartbeats

    def start_broker(self, broker: VirtualBroker, now_ms: int) -> None:
        """Start the process: it registers at once, after ten seconds, and then regularly."""
        broker.alive, broker.frozen, broker.slow_ms = True, False, 0
        for conn in broker.connections:
            conn.schedule.base_ms = now_ms + (_HEARTBEAT_MS if self.acting else _FIRST_REGISTER_MS)
            conn.next_k = 0
            conn.cancel_planned()
            self.unwatch(conn)
            self.clock.call_soon_for(conn, now_ms, self.connect_and_register)

    def connect_and_register(self, conn: VirtualConnection, now_ms: int) -> None:
        """Connect, register and schedule the next heartbeat."""
        if conn.ns.core is not None and not conn.cut:
            self.connect(conn, now_ms)
            self.register(conn, now_ms, force=True)
        self.plan_beat(conn, now_ms)

    def register(self, conn: VirtualConnection, now_ms: int, *, force: bool = False, counted: bool = False) -> None:
        """Send the periodic registration. `counted`: a heartbeat was already counted with it."""
        requests = conn.broker.requests
        if force or self._force or self._is_wanted(conn, now_ms):
            for command in requests.registration():
                self.send(conn, command, now_ms)
        if not counted and conn.ns.running.routes.has_lease(requests.key):
            conn.beat(now_ms)

    def _is_wanted(self, conn: VirtualConnection, now_ms: int) -> bool:
        """forceRegister=false: query first whether the NameServer has another version."""
        reply = self.send(conn, conn.broker.requests.version_query(oneway=False), now_ms).reply
        return reply is None or reply.ext is None or reply.ext.get("changed") != "false"

    def send(self, conn: VirtualConnection, command: Command, now_ms: int) -> Outcome:
        """Send one request."""
        self.clients.advance(conn.ns, now_ms)
        return conn.ns.request(command, conn.caller, now_ms)

    def registers_at(self, k: int) -> bool:
        """Whether a registration is sent with this heartbeat; both count as one heartbeat."""
        if not self.acting:
            return True
        since_start_ms = (k + 1) * _HEARTBEAT_MS - _FIRST_REGISTER_MS
        return since_start_ms >= 0 and since_start_ms % self.register_ms == 0

    def _beat(self, conn: VirtualConnection, now_ms: int) -> None:
        k = conn.next_k
        conn.next_k += 1
        if conn.connection_id is not None and conn.ns.core is not None:
            if self.acting:
                self.send(conn, conn.broker.requests.heartbeat(), now_ms)
                conn.beat(now_ms)
            if self.registers_at(k):
                self.register(conn, now_ms, counted=self.acting)
        self.plan_beat(conn, now_ms)

    # connections

    def connect(self, conn: VirtualConnection, now_ms: int) -> None:
        """Open a new connection, even if the old one is still open at the NameServer."""
        before = conn.connection_id
        conn.connection_id = conn.ns.connect()
        if before is not None:  # of a machine that failed silently: the NameServer detects that later
            self.clock.call_at(now_ms + MINUTE_MS, partial(self._connection_lost, conn.ns, before, DownReason.CLOSED))

    def disconnect(self, conn: VirtualConnection, now_ms: int, reason: DownReason = DownReason.CLOSED) -> None:
        """Close the connection at the NameServer."""
        connection_id, conn.connection_id = conn.connection_id, None
        if connection_id is not None:
            self._connection_lost(conn.ns, connection_id, reason, now_ms)

    def _connection_lost(self, ns: VirtualNameServer, connection_id: int, reason: DownReason, now_ms: int) -> None:
        if ns.core is not None:
            self.clients.advance(ns, now_ms)
            ns.connection_lost(connection_id, reason, now_ms)

    # silence

    def watch(self, conn: VirtualConnection, now_ms: int) -> None:
        """Watch a connection that became silent: it will be closed as idle, and its lease will expire."""
        ns = conn.ns
        if conn.connection_id is None or ns.core is None:
            return
        self._watched[ns.number][conn] = None
        last_ms = conn.last_ms
        if ns.number == 0:  # also receives cluster queries
            last_ms = max(last_ms, now_ms - self.clock.rng.randrange(_CLUSTER_QUERY_MS))
        self.clock.call_at_for(conn, max(now_ms, last_ms + ns.idle_ms), self._close_idle)
        self._plan_scan(ns, now_ms)

    def unwatch(self, conn: VirtualConnection) -> None:
        """Stop watching a connection that is in use again."""
        self._watched[conn.ns.number].pop(conn, None)

    def scan_for(self, ns: VirtualNameServer, lasts_ms: int, now_ms: int) -> None:
        """Scan after a restart until the leases of recovered brokers have ended."""
        self._scan_until[ns.number] = now_ms + lasts_ms + 2 * ns.scan_ms
        self._watched[ns.number].clear()
        self._plan_scan(ns, now_ms)

    def _close_idle(self, conn: VirtualConnection, now_ms: int) -> None:
        self.disconnect(conn, now_ms, DownReason.IDLE)

    def _plan_scan(self, ns: VirtualNameServer, now_ms: int) -> None:
        if not self._scanning[ns.number]:
            self._scanning[ns.number] = True
            self.clock.call_at(ns.next_scan_ms(now_ms), partial(self._scan, ns))

    def _scan(self, ns: VirtualNameServer, now_ms: int) -> None:
        """Scan for expired leases. Real NameServers do it every five seconds; here only while it has an effect."""
        self._scanning[ns.number] = False
        if ns.core is None:
            return
        routes = ns.core.routes
        for conn in self.connections_to(ns):
            if conn.is_steady:
                routes.heartbeat(conn.broker.requests.key, conn.last_beat(now_ms))
        self.clients.advance(ns, now_ms)
        outcome = ns.scan(now_ms)
        closing = {effect.connection for effect in outcome.effects if isinstance(effect, CloseConnection)}
        if closing:
            for conn in self.connections_to(ns):
                if conn.connection_id in closing:
                    self.disconnect(conn, now_ms, DownReason.EXPIRED)
        watched = self._watched[ns.number]
        for conn in [conn for conn in watched if not routes.has_lease(conn.broker.requests.key)]:
            del watched[conn]
        if watched or now_ms < self._scan_until[ns.number] or ns.core.expiry_protection.since_ms is not None:
            self._plan_scan(ns, now_ms)


def _groups_of(event: Event) -> Iterable[str]:
    if isinstance(event, TopicDeleted):
        return event.brokers
    name: str | None = getattr(event, "broker", None)
    return () if name is None else (name,)

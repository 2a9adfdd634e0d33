"""Injects the faults of a scenario into a fleet in virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Final

from routebook.codes import RequestCode
from routebook.fleet.incidents import Incident, TopicChange, apply_topic_change
from routebook.fleet.population import Member
from routebook.fleet.scenario import FaultKind
from routebook.fleet.virtual.broker import VirtualBroker, VirtualConnection
from routebook.fleet.virtual.fleet import MINUTE_MS, VirtualFleet
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.fleet.virtual.truth import CALL_MS, RECONNECT_MS
from routebook.handlers import Caller
from routebook.wire.command import Command

_LINGER_MS: Final = 10_000  # a stopped broker keeps its connections this long after unregistering
_DEMOTION_MS: Final = 300  # delay until the old master becomes a slave
_ADMIN: Final = Caller(0, "127.48.0.1:50000")


class VirtualFaults:
    """`inject` starts an incident and schedules its end."""

    def __init__(self, fleet: VirtualFleet, *, start_ms: int, boot: Callable[[], str]) -> None:
        self._fleet = fleet
        self._clock = fleet.clock
        self._start_ms = start_ms
        self._boot = boot

    def inject(self, incident: Incident, now_ms: int) -> Member | None:
        """Start an incident; return the new master if it is a role switch."""
        fleet, call_at = self._fleet, self._clock.call_at
        until_ms = now_ms + incident.lasts_ms
        for broker in [fleet.brokers[member.number] for member in incident.members]:
            match incident.kind:
                case FaultKind.CRASH:
                    self._crash(broker, now_ms, silent=incident.silent)
                    call_at(until_ms, partial(fleet.start_broker, broker))
                case FaultKind.STOP:
                    self._stop(broker, now_ms)
                    call_at(until_ms, partial(fleet.start_broker, broker))
                case FaultKind.FREEZE:
                    self._freeze(broker, now_ms)
                    call_at(until_ms, partial(self._thaw, broker))
                case FaultKind.CUT:
                    conn = broker.connections[incident.nameserver or 0]
                    self._cut(conn, now_ms)
                    call_at(until_ms, partial(self._heal, conn, now_ms))
                case FaultKind.FLAP:
                    for down, up in incident.downs:
                        call_at(self._start_ms + down, partial(self._crash, broker, silent=False))
                        call_at(self._start_ms + up, partial(fleet.start_broker, broker))
                case FaultKind.SLOW:
                    self._slow(broker, incident.delay_ms, now_ms)
                    call_at(until_ms, partial(self._slow, broker, 0))
        if incident.kind is FaultKind.SWITCH:
            return self._switch(incident.members[0].broker, now_ms)
        if incident.kind is FaultKind.RESTART:
            ns = fleet.nameservers[incident.nameserver or 0]
            self.stop_nameserver(ns, now_ms)
            call_at(until_ms, partial(self._start_nameserver, ns))
        if incident.change is not None:
            self._churn(incident.change, now_ms)
        return None

    # processes

    def _crash(self, broker: VirtualBroker, now_ms: int, *, silent: bool) -> None:
        self._leave_steady_state(broker, now_ms)
        broker.alive = False
        for conn in broker.connections:
            conn.cancel_planned()
            if silent:
                self._fleet.watch(conn, now_ms)
            else:
                self._clock.call_soon_for(conn, now_ms, self._fleet.disconnect)

    def _stop(self, broker: VirtualBroker, now_ms: int) -> None:
        self._leave_steady_state(broker, now_ms)
        broker.alive = False
        for conn in broker.connections:
            conn.cancel_planned()
            if conn.connection_id is not None:
                self._clock.call_soon_for(conn, now_ms, self._unregister)
                self._clock.call_at_for(conn, now_ms + _LINGER_MS, self._fleet.disconnect)

    def _unregister(self, conn: VirtualConnection, now_ms: int) -> None:
        if conn.ns.core is not None:
            self._fleet.send(conn, conn.broker.requests.unregistration(), now_ms)

    def _freeze(self, broker: VirtualBroker, now_ms: int) -> None:
        self._leave_steady_state(broker, now_ms)
        broker.frozen = True
        for conn in broker.connections:
            conn.cancel_planned()
            self._fleet.watch(conn, now_ms)

    def _thaw(self, broker: VirtualBroker, now_ms: int) -> None:
        """Java: scheduleAtFixedRate runs overdue tasks at once, over a new connection if the old one is closed."""
        broker.frozen = False
        for conn in broker.connections:
            conn.cancel_planned()
            self._fleet.unwatch(conn)
            if conn.connection_id is not None:
                self._clock.call_soon_for(conn, now_ms, self._catch_up)
            else:
                self._clock.call_at_for(conn, self._reconnected_ms(now_ms), self._fleet.connect_and_register)

    def _catch_up(self, conn: VirtualConnection, now_ms: int) -> None:
        if conn.connection_id is None:  # a scan closed it while the request was in transit
            self._clock.call_at_for(conn, self._reconnected_ms(now_ms), self._fleet.connect_and_register)
            return
        if conn.ns.core is not None:
            self._fleet.register(conn, now_ms)
        self._fleet.plan_beat(conn, now_ms)

    def _slow(self, broker: VirtualBroker, delay_ms: int, now_ms: int) -> None:
        self._leave_steady_state(broker, now_ms)
        broker.slow_ms = delay_ms
        for conn in broker.connections:
            conn.cancel_planned()
            self._fleet.plan_beat(conn, now_ms)

    def _leave_steady_state(self, broker: VirtualBroker, now_ms: int) -> None:
        for conn in broker.connections:
            self._fleet.leave_steady_state(conn, now_ms)

    # the network

    def _cut(self, conn: VirtualConnection, now_ms: int) -> None:
        self._fleet.leave_steady_state(conn, now_ms)
        conn.cut = True
        conn.cancel_planned()
        self._fleet.watch(conn, now_ms)

    def _heal(self, conn: VirtualConnection, cut_ms: int, now_ms: int) -> None:
        conn.cut = False
        conn.cancel_planned()
        self._fleet.unwatch(conn)
        asked_ms = self._next_registration_ms(conn, cut_ms)
        if conn.connection_id is None or asked_ms + CALL_MS < now_ms:
            # one side closed the connection; if it was the broker, the NameServer notices it now
            self._clock.call_at_for(conn, self._reconnected_ms(now_ms), self._reconnect)
        elif asked_ms < now_ms:
            self._clock.call_soon_for(conn, now_ms, self._catch_up)  # the request was in transit
        else:
            self._fleet.plan_beat(conn, now_ms)

    def _next_registration_ms(self, conn: VirtualConnection, from_ms: int) -> int:
        k = conn.schedule.first_from(from_ms)
        while not self._fleet.registers_at(k):
            k += 1
        return conn.schedule.at(k)

    def _reconnected_ms(self, now_ms: int) -> int:
        return now_ms + self._clock.rng.randrange(RECONNECT_MS)

    def _reconnect(self, conn: VirtualConnection, now_ms: int) -> None:
        """Open a new connection; the broker registers at its next regular time."""
        if conn.ns.core is not None:
            self._fleet.disconnect(conn, now_ms)
            self._fleet.connect(conn, now_ms)
        self._fleet.plan_beat(conn, now_ms)

    # groups and topics

    def _switch(self, group: str, now_ms: int) -> Member:
        """Swap master and slave."""
        old, new = sorted(self._fleet.groups[group], key=_rank)[:2]
        slave_id = new.requests.promote(now_ms)
        for conn in new.connections:
            self._clock.call_soon(now_ms, partial(self._register_now, conn))
        self._clock.call_at(now_ms + _DEMOTION_MS, partial(self._demote, old, new, slave_id))
        return new.requests.member

    def _demote(self, old: VirtualBroker, new: VirtualBroker, slave_id: int, now_ms: int) -> None:
        """Runs when all NameServers know the new master: an earlier heartbeat of the old one would claim its id."""
        old.requests.demote(slave_id, new.requests)
        for conn in old.connections:
            self._clock.call_soon(now_ms, partial(self._register_now, conn))

    def _register_now(self, conn: VirtualConnection, now_ms: int) -> None:
        """Register outside the regular interval."""
        if not conn.is_silent and conn.connection_id is not None and conn.ns.core is not None:
            self._fleet.leave_steady_state(conn, now_ms)
            self._fleet.register(conn, now_ms)

    def _churn(self, change: TopicChange, now_ms: int) -> None:
        name = change.topic.topic_name
        for group in change.groups:
            brokers = sorted(self._fleet.groups[group], key=_rank)
            apply_topic_change([broker.requests for broker in brokers], change, now_ms)
            if not change.deleted:
                for conn in brokers[0].connections:
                    self._clock.call_soon(now_ms, partial(self._announce, conn, name))
            for broker in brokers:
                self._leave_steady_state(broker, now_ms)  # its next registration is different
        if change.deleted:
            for ns in self._fleet.nameservers:
                self._clock.call_soon(now_ms, partial(self._delete, ns, name))

    def _announce(self, conn: VirtualConnection, topic: str, now_ms: int) -> None:
        if conn.is_silent or conn.connection_id is None or conn.ns.core is None:
            return
        for command in conn.broker.requests.incremental([topic]):
            self._fleet.send(conn, command, now_ms)
            if command.code == RequestCode.REGISTER_BROKER:
                conn.beat(now_ms)

    def _delete(self, ns: VirtualNameServer, topic: str, now_ms: int) -> None:
        """Delete a topic at one NameServer, like mqadmin."""
        if ns.core is not None:
            self._fleet.clients.advance(ns, now_ms)
            ns.request(Command(RequestCode.DELETE_TOPIC_IN_NAMESRV, 0, ext={"topic": topic}), _ADMIN, now_ms)

    # NameServers

    def stop_nameserver(self, ns: VirtualNameServer, now_ms: int) -> None:
        """Stop a NameServer cleanly; brokers and clients lose their connections."""
        fleet = self._fleet
        for conn in fleet.connections_to(ns):
            fleet.leave_steady_state(conn, now_ms)
            conn.cancel_planned()
        fleet.end_minute(ns, now_ms // MINUTE_MS * MINUTE_MS, now_ms)
        self._advance_clients(now_ms)
        fleet.clients.set_nameserver_up(ns, now_ms, up=False)
        ns.stop(now_ms)
        for conn in fleet.connections_to(ns):
            conn.connection_id = None
            conn.rollup.forget(conn.broker.requests.key)
            conn.rollup.take(0)

    def _start_nameserver(self, ns: VirtualNameServer, now_ms: int) -> None:
        fleet = self._fleet
        self._advance_clients(now_ms)
        ns.start(now_ms, boot=self._boot())
        fleet.clients.set_nameserver_up(ns, now_ms, up=True)
        fleet.scan_for(ns, ns.recovered_lease_ms, now_ms)
        for conn in fleet.connections_to(ns):
            if not conn.is_silent:
                conn.cancel_planned()
                self._clock.call_at_for(conn, self._reconnected_ms(now_ms), self._reconnect)

    def _advance_clients(self, now_ms: int) -> None:
        for ns in self._fleet.nameservers:
            if ns.core is not None:
                self._fleet.clients.advance(ns, now_ms)


def _rank(broker: VirtualBroker) -> int:
    return broker.requests.broker_id

"""What incidents do to a fleet in virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Final

from routebook.codes import MASTER_ID, RequestCode
from routebook.fleet.incidents import Incident, TopicChange
from routebook.fleet.population import Member
from routebook.fleet.scenario import FaultKind
from routebook.fleet.virtual.broker import VirtualBroker, VirtualLine
from routebook.fleet.virtual.fleet import MINUTE_MS, VirtualFleet
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.fleet.virtual.truth import CALL_MS, RECONNECT_MS
from routebook.handlers import Caller
from routebook.wire.command import Command

_LINGER_MS: Final = 10_000  # how long a stopped broker still lives after it said so
_DEMOTION_MS: Final = 300  # the old master learns of the new one a little later
_ADMIN: Final = Caller(0, "127.48.0.1:50000")


class VirtualFaults:
    """`befall` begins an incident, and plans its end."""

    def __init__(self, fleet: VirtualFleet, *, start_ms: int, boot: Callable[[], str]) -> None:
        self._fleet = fleet
        self._time = fleet.time
        self._start_ms = start_ms
        self._boot = boot

    def befall(self, incident: Incident, now_ms: int) -> Member | None:
        """Returns who became master, where somebody did."""
        fleet, at = self._fleet, self._time.at
        until_ms = now_ms + incident.lasts_ms
        for broker in [fleet.brokers[member.number] for member in incident.members]:
            match incident.kind:
                case FaultKind.CRASH:
                    self._crash(broker, now_ms, silent=incident.silent)
                    at(until_ms, partial(fleet.begin, broker))
                case FaultKind.STOP:
                    self._stop(broker, now_ms)
                    at(until_ms, partial(fleet.begin, broker))
                case FaultKind.FREEZE:
                    self._freeze(broker, now_ms)
                    at(until_ms, partial(self._thaw, broker))
                case FaultKind.CUT:
                    line = broker.lines[incident.nameserver or 0]
                    self._cut(line, now_ms)
                    at(until_ms, partial(self._heal, line, now_ms))
                case FaultKind.FLAP:
                    for down, up in incident.downs:
                        at(self._start_ms + down, partial(self._crash, broker, silent=False))
                        at(self._start_ms + up, partial(fleet.begin, broker))
                case FaultKind.SLOW:
                    self._slow(broker, incident.delay_ms, now_ms)
                    at(until_ms, partial(self._slow, broker, 0))
        if incident.kind is FaultKind.SWITCH:
            return self._switch(incident.members[0].broker, now_ms)
        if incident.kind is FaultKind.RESTART:
            ns = fleet.nameservers[incident.nameserver or 0]
            self.stop_nameserver(ns, now_ms)
            at(until_ms, partial(self._start_nameserver, ns))
        if incident.change is not None:
            self._churn(incident.change, now_ms)
        return None

    # processes

    def _crash(self, broker: VirtualBroker, now_ms: int, *, silent: bool) -> None:
        self._fall_out(broker, now_ms)
        broker.alive = False
        for line in broker.lines:
            line.void()
            if silent:
                self._fleet.watch(line, now_ms)
            else:
                self._time.soon_for(line, now_ms, self._fleet.hang_up)

    def _stop(self, broker: VirtualBroker, now_ms: int) -> None:
        self._fall_out(broker, now_ms)
        broker.alive = False
        for line in broker.lines:
            line.void()
            if line.connection is not None:
                self._time.soon_for(line, now_ms, self._say_farewell)
                self._time.for_line(line, now_ms + _LINGER_MS, self._fleet.hang_up)

    def _say_farewell(self, line: VirtualLine, now_ms: int) -> None:
        if line.ns.core is not None:
            self._fleet.say(line, line.broker.voice.farewell(), now_ms)

    def _freeze(self, broker: VirtualBroker, now_ms: int) -> None:
        self._fall_out(broker, now_ms)
        broker.frozen = True
        for line in broker.lines:
            line.void()
            self._fleet.watch(line, now_ms)

    def _thaw(self, broker: VirtualBroker, now_ms: int) -> None:
        """Java: scheduleAtFixedRate, what is overdue is done at once; over a new connection, if the old one is gone."""
        broker.frozen = False
        for line in broker.lines:
            line.void()
            self._fleet.unwatch(line)
            if line.connection is not None:
                self._time.soon_for(line, now_ms, self._catch_up)
            else:
                self._time.for_line(line, self._reconnected_ms(now_ms), self._fleet.come_back)

    def _catch_up(self, line: VirtualLine, now_ms: int) -> None:
        if line.connection is not None and line.ns.core is not None:
            self._fleet.register(line, now_ms)
        self._fleet.plan_beat(line, now_ms)

    def _slow(self, broker: VirtualBroker, delay_ms: int, now_ms: int) -> None:
        self._fall_out(broker, now_ms)
        broker.slow_ms = delay_ms
        for line in broker.lines:
            line.void()
            self._fleet.plan_beat(line, now_ms)

    def _fall_out(self, broker: VirtualBroker, now_ms: int) -> None:
        for line in broker.lines:
            self._fleet.fall_out(line, now_ms)

    # the network

    def _cut(self, line: VirtualLine, now_ms: int) -> None:
        self._fleet.fall_out(line, now_ms)
        line.cut = True
        line.void()
        self._fleet.watch(line, now_ms)

    def _heal(self, line: VirtualLine, cut_ms: int, now_ms: int) -> None:
        line.cut = False
        line.void()
        self._fleet.unwatch(line)
        asked_ms = self._next_registration_ms(line, cut_ms)
        if line.connection is None or asked_ms + CALL_MS < now_ms:
            # the NameServer gave the connection up, or the broker did, which the NameServer learns now
            self._time.for_line(line, self._reconnected_ms(now_ms), self._reconnect)
        elif asked_ms < now_ms:
            self._time.soon_for(line, now_ms, self._catch_up)  # the request was under way all the time
        else:
            self._fleet.plan_beat(line, now_ms)

    def _next_registration_ms(self, line: VirtualLine, from_ms: int) -> int:
        k = line.rhythm.first_from(from_ms)
        while not self._fleet.registers_at(k):
            k += 1
        return line.rhythm.at(k)

    def _reconnected_ms(self, now_ms: int) -> int:
        return now_ms + self._time.draw.randrange(RECONNECT_MS)

    def _reconnect(self, line: VirtualLine, now_ms: int) -> None:
        """A new connection; the broker registers over it when it would have anyway."""
        if line.ns.core is not None:
            self._fleet.hang_up(line, now_ms)
            self._fleet.connect(line, now_ms)
        self._fleet.plan_beat(line, now_ms)

    # groups and topics

    def _switch(self, group: str, now_ms: int) -> Member:
        """Master and slave change places, in a new epoch."""
        old, new = sorted(self._fleet.groups[group], key=_rank)[:2]
        epoch = new.voice.version.state_version + 1
        slave_id = new.voice.broker_id
        new.voice.take_role(MASTER_ID, epoch=epoch, now_ms=now_ms)
        for line in new.lines:
            self._time.soon(now_ms, partial(self._speak_up, line))
        self._time.at(now_ms + _DEMOTION_MS, partial(self._demote, old, new, slave_id, epoch))
        return new.voice.member

    def _demote(self, old: VirtualBroker, new: VirtualBroker, slave_id: int, epoch: int, now_ms: int) -> None:
        """Not before all know the new master: a beat of the old one that falls between would claim the slave's id."""
        old.voice.take_role(slave_id, epoch=epoch, now_ms=now_ms)
        old.voice.follow(new.voice)
        for line in old.lines:
            self._time.soon(now_ms, partial(self._speak_up, line))

    def _speak_up(self, line: VirtualLine, now_ms: int) -> None:
        """Register out of turn."""
        if not line.is_silent and line.connection is not None and line.ns.core is not None:
            self._fleet.fall_out(line, now_ms)
            self._fleet.register(line, now_ms)

    def _churn(self, change: TopicChange, now_ms: int) -> None:
        name = change.topic.topic_name
        for group in change.groups:
            master, *slaves = sorted(self._fleet.groups[group], key=_rank)
            if change.deleted:
                master.voice.drop_topics([name], now_ms)
            else:
                master.voice.put_topics([change.topic], now_ms)
                for line in master.lines:
                    self._time.soon(now_ms, partial(self._announce, line, name))
            for slave in slaves:
                slave.voice.follow(master.voice)
            for broker in (master, *slaves):
                self._fall_out(broker, now_ms)  # its next registration is another one
        if change.deleted:
            for ns in self._fleet.nameservers:
                self._time.soon(now_ms, partial(self._delete, ns, name))

    def _announce(self, line: VirtualLine, topic: str, now_ms: int) -> None:
        if line.is_silent or line.connection is None or line.ns.core is None:
            return
        for command in line.broker.voice.incremental([topic]):
            self._fleet.say(line, command, now_ms)
            if command.code == RequestCode.REGISTER_BROKER:
                line.beat(now_ms)

    def _delete(self, ns: VirtualNameServer, topic: str, now_ms: int) -> None:
        """As mqadmin does, at each NameServer."""
        if ns.core is not None:
            self._fleet.clients.advance(ns, now_ms)
            ns.request(Command(RequestCode.DELETE_TOPIC_IN_NAMESRV, 0, ext={"topic": topic}), _ADMIN, now_ms)

    # NameServers

    def stop_nameserver(self, ns: VirtualNameServer, now_ms: int) -> None:
        """In order; brokers and clients find it gone."""
        fleet = self._fleet
        for line in fleet.lines_to(ns):
            fleet.fall_out(line, now_ms)
            line.void()
        fleet.end_minute(ns, now_ms // MINUTE_MS * MINUTE_MS, now_ms)
        self._advance_clients(now_ms)
        fleet.clients.nameserver_is(ns, now_ms, up=False)
        ns.stop(now_ms)
        for line in fleet.lines_to(ns):
            line.connection = None
            line.rollup.left(line.broker.voice.key)
            line.rollup.take(0)

    def _start_nameserver(self, ns: VirtualNameServer, now_ms: int) -> None:
        fleet = self._fleet
        self._advance_clients(now_ms)
        ns.start(now_ms, boot=self._boot())
        fleet.clients.nameserver_is(ns, now_ms, up=True)
        fleet.scan_for(ns, ns.recovered_lease_ms, now_ms)
        for line in fleet.lines_to(ns):
            if not line.is_silent:
                line.void()
                self._time.for_line(line, self._reconnected_ms(now_ms), self._reconnect)

    def _advance_clients(self, now_ms: int) -> None:
        for ns in self._fleet.nameservers:
            if ns.core is not None:
                self._fleet.clients.advance(ns, now_ms)


def _rank(broker: VirtualBroker) -> int:
    return broker.voice.broker_id

"""A broker in virtual time and its connection to each NameServer, with heartbeats in closed form or one by one."""

from routebook.events import HeartbeatMinute
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.virtual.heartbeats import HeartbeatSchedule
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.handlers import Caller
from routebook.rollup import HeartbeatRollup


class VirtualBroker:
    """A broker process. Its `requests`, with its topics and id, survive restarts."""

    __slots__ = ("alive", "connections", "frozen", "requests", "slow_ms")

    def __init__(self, requests: BrokerRequests) -> None:
        self.requests = requests
        self.alive = False
        self.frozen = False
        self.slow_ms = 0
        self.connections: list[VirtualConnection] = []


class VirtualConnection:
    """The connection of one broker to one NameServer.

    In steady state a heartbeat costs nothing: the lease is renewed, and the minute's rollup follows from the schedule.
    Every disturbance calls `leave_steady_state`: then each heartbeat is processed, until `enter_steady_state`.
    """

    __slots__ = (
        "broker",
        "connection_id",
        "cut",
        "generation",
        "is_steady",
        "last_ms",
        "next_k",
        "ns",
        "rollup",
        "schedule",
    )

    def __init__(self, broker: VirtualBroker, ns: VirtualNameServer, schedule: HeartbeatSchedule) -> None:
        self.broker = broker
        self.ns = ns
        self.schedule = schedule
        self.connection_id: int | None = None  # id at the NameServer
        self.cut = False
        self.is_steady = False
        self.next_k = 0  # the next heartbeat; in steady state the first one not yet in a rollup
        self.last_ms = 0  # the last heartbeat, outside steady state
        self.rollup = HeartbeatRollup()
        self.generation = 0  # calls scheduled under an earlier generation are cancelled

    @property
    def caller(self) -> Caller:
        host = self.broker.requests.member.host
        return Caller(self.connection_id or 0, f"{host}:{40_000 + self.ns.number}")

    @property
    def is_silent(self) -> bool:
        """Whether nothing reaches the NameServer."""
        return not self.broker.alive or self.broker.frozen or self.cut

    def cancel_planned(self) -> None:
        """Cancel all calls scheduled for this connection."""
        self.generation += 1

    def beat(self, now_ms: int) -> None:
        """Count a heartbeat that arrived."""
        requests = self.broker.requests
        self.rollup.beat(requests.key, requests.member.broker, now_ms)
        self.last_ms = now_ms

    def leave_steady_state(self, now_ms: int) -> bool:
        """Process heartbeats one by one from now on; return False if that was already so."""
        if not self.is_steady:
            return False
        self.is_steady = False
        requests, schedule = self.broker.requests, self.schedule
        self.rollup = HeartbeatRollup()
        self.beat(schedule.at(self.next_k - 1))
        self.rollup.take(0)  # it belongs to an earlier rollup; needed for the gap that follows
        while (at_ms := schedule.at(self.next_k)) <= now_ms:
            self.beat(at_ms)
            self.next_k += 1
        self.ns.running.routes.heartbeat(requests.key, self.last_ms)
        return True

    def enter_steady_state(self) -> None:
        """Compute heartbeats in closed form from this minute on."""
        self.is_steady = True
        self.cancel_planned()

    def last_beat(self, now_ms: int) -> int:
        """Return the time of the last heartbeat."""
        return self.schedule.at(self.schedule.first_from(now_ms + 1) - 1) if self.is_steady else self.last_ms

    def row(self, minute_ms: int, end_ms: int) -> HeartbeatMinute | None:
        """Return the rollup of a minute in steady state, equal to that of HeartbeatRollup."""
        schedule, first = self.schedule, self.next_k
        k = first
        while schedule.at(k) < end_ms:
            k += 1
        if k == first:
            return None
        self.next_k = k
        gaps = schedule.gaps(first, k - first)
        member, key = self.broker.requests.member, self.broker.requests.key
        return HeartbeatMinute(
            cluster=key.cluster,
            broker=member.broker,
            addr=key.addr,
            minute_ms=minute_ms,
            count=k - first,
            gaps_ms=gaps.histogram,
            max_gap_ms=gaps.greatest,
        )

"""A broker in virtual time, and its line to each NameServer: in step, in closed form, or one beat at a time."""

from routebook.events import HeartbeatMinute
from routebook.fleet.broker_requests import BrokerVoice
from routebook.fleet.virtual.heartbeats import Rhythm
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.handlers import Caller
from routebook.rollup import HeartbeatRollup


class VirtualBroker:
    """A process that comes and goes; its voice, with its topics and its id, stays."""

    __slots__ = ("alive", "frozen", "lines", "slow_ms", "voice")

    def __init__(self, voice: BrokerVoice) -> None:
        self.voice = voice
        self.alive = False
        self.frozen = False
        self.slow_ms = 0
        self.lines: list[VirtualLine] = []


class VirtualLine:
    """From one broker to one NameServer.

    In step, nothing is done at a beat: the lease is renewed, and the minute's row follows from the rhythm. Whatever
    disturbs that (`fall_out`) makes each beat an event of its own, until the line is in step again (`fall_in`).
    """

    __slots__ = ("broker", "connection", "cut", "in_step", "last_ms", "next_k", "ns", "plan", "rhythm", "rollup")

    def __init__(self, broker: VirtualBroker, ns: VirtualNameServer, rhythm: Rhythm) -> None:
        self.broker = broker
        self.ns = ns
        self.rhythm = rhythm
        self.connection: int | None = None  # as the NameServer has it
        self.cut = False
        self.in_step = False
        self.next_k = 0  # the next beat, or in step the first one that is not in a row yet
        self.last_ms = 0  # the last beat, out of step
        self.rollup = HeartbeatRollup()
        self.plan = 0  # what was planned under an earlier number is void

    @property
    def caller(self) -> Caller:
        host = self.broker.voice.member.host
        return Caller(self.connection or 0, f"{host}:{40_000 + self.ns.number}")

    @property
    def is_silent(self) -> bool:
        """Nothing of it reaches the NameServer."""
        return not self.broker.alive or self.broker.frozen or self.cut

    def void(self) -> int:
        """Nothing that was planned for this line happens any more; the number of the next plan."""
        self.plan += 1
        return self.plan

    def beat(self, now_ms: int) -> None:
        """A sign of life arrived."""
        voice = self.broker.voice
        self.rollup.beat(voice.key, voice.member.broker, now_ms)
        self.last_ms = now_ms

    def fall_out(self, now_ms: int) -> bool:
        """Count all beats up to now one by one, and go on so; False if it was so already."""
        if not self.in_step:
            return False
        self.in_step = False
        voice, rhythm = self.broker.voice, self.rhythm
        self.rollup = HeartbeatRollup()
        self.beat(rhythm.at(self.next_k - 1))
        self.rollup.take(0)  # that one was in an earlier row; it is there for the gap that follows
        while (at_ms := rhythm.at(self.next_k)) <= now_ms:
            self.beat(at_ms)
            self.next_k += 1
        self.ns.running.routes.heartbeat(voice.key, self.last_ms)
        return True

    def fall_in(self) -> None:
        """From this minute on all is as it should be."""
        self.in_step = True
        self.void()

    def last_beat(self, now_ms: int) -> int:
        """When the last sign of life came, also in step."""
        return self.rhythm.at(self.rhythm.first_from(now_ms + 1) - 1) if self.in_step else self.last_ms

    def row(self, minute_ms: int, end_ms: int) -> HeartbeatMinute | None:
        """The row of a minute in step: what the rollup would make of its beats."""
        rhythm, first = self.rhythm, self.next_k
        k = first
        while rhythm.at(k) < end_ms:
            k += 1
        if k == first:
            return None
        self.next_k = k
        gaps = rhythm.gaps(first, k - first)
        member, key = self.broker.voice.member, self.broker.voice.key
        return HeartbeatMinute(
            cluster=key.cluster,
            broker=member.broker,
            addr=key.addr,
            minute_ms=minute_ms,
            count=k - first,
            gaps_ms=gaps.histogram,
            max_gap_ms=gaps.greatest,
        )

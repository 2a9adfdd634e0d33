"""The ground truth of a simulation: each injected fault, and the events that the journals must contain."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from routebook.fleet.incidents import Incident
from routebook.fleet.population import Member
from routebook.fleet.scenario import FaultKind
from routebook.handlers.silence import Sender, is_mass_silence
from routebook.settings import ExpiryProtectionSettings

_SOON_MS: Final = 1_000  # upper bound for the network delay of a request
_START_MS: Final = 2_000
RECONNECT_MS: Final = 3_000  # a broker checks its connections every three seconds
CALL_MS: Final = 24_000  # registerBrokerTimeoutMills: then a broker closes the connection
_PLANNED: Final = frozenset({FaultKind.STOP, FaultKind.SWITCH, FaultKind.CHURN, FaultKind.RESTART})
_SILENCE: Final = ("expired", "idle")


class Expected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event in the journal of `ns` between `from_ms` and `to_ms`; not `certain`: it may be missing."""

    kind: str
    ns: str
    broker: str = ""
    addr: str = ""
    topic: str = ""
    reasons: tuple[str, ...] = ()
    from_ms: int
    to_ms: int
    certain: bool = True


class Truth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of truth.jsonl: a fault, the affected brokers, and the expected events."""

    id: int
    fault: str
    at: int
    until: int
    planned: bool
    silent: bool = False
    brokers: tuple[str, ...] = ()
    addrs: tuple[str, ...] = ()
    nameservers: tuple[str, ...]  # where it is visible
    topic: str = ""
    delay_ms: int = 0
    granularity_ms: int  # maximum delay until a NameServer detects it
    expect: tuple[Expected, ...] = ()

    def before(self, end_ms: int) -> "Truth":
        """The same, where no event that may come after the end of the simulation is certain."""
        expect = (replace(one, certain=one.certain and one.to_ms <= end_ms) for one in self.expect)
        return replace(self, expect=tuple(expect))


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The intervals that determine when a NameServer detects a fault."""

    nameservers: tuple[str, ...]
    beat_ms: int  # between two heartbeats
    register_ms: int  # between two registrations
    timeout_ms: int
    scan_ms: int
    members: tuple[Member, ...]  # all brokers
    protection: ExpiryProtectionSettings

    def keeps(self, silent: Iterable[Member]) -> bool:
        """Whether mass-expiry protection starts if these brokers are silent."""
        addrs = {member.addr for member in silent}
        senders = [Sender((member.broker,), member.host, None, member.addr in addrs) for member in self.members]
        return is_mass_silence(senders, self.protection)

    @property
    def slack_ms(self) -> int:
        """Maximum delay of a heartbeat."""
        return self.beat_ms // 3


def truth_of(
    incident: Incident, number: int, *, start_ms: int, timing: Timing, new_master: Member | None = None
) -> Truth:
    """Return the ground truth of one incident."""
    at, until = start_ms + incident.at_ms, start_ms + incident.until_ms
    seen_by = timing.nameservers
    if incident.nameserver is not None:
        seen_by = (timing.nameservers[incident.nameserver],)
    silence = incident.silent or incident.kind in {FaultKind.FREEZE, FaultKind.CUT}
    return Truth(
        id=number,
        fault=str(incident.kind),
        at=at,
        until=until,
        planned=incident.kind in _PLANNED,
        silent=incident.silent,
        brokers=tuple(dict.fromkeys(member.broker for member in incident.members)),
        addrs=tuple(member.addr for member in incident.members),
        nameservers=seen_by,
        topic=incident.change.topic.topic_name if incident.change is not None else "",
        delay_ms=incident.delay_ms,
        granularity_ms=timing.timeout_ms + timing.scan_ms if silence else _SOON_MS,
        expect=tuple(_expected(incident, at, until, seen_by, start_ms, timing, new_master)),
    )


def _expected(
    incident: Incident,
    at: int,
    until: int,
    seen_by: Sequence[str],
    start_ms: int,
    timing: Timing,
    new_master: Member | None,
) -> Iterable[Expected]:
    for ns in seen_by:
        match incident.kind:
            case FaultKind.RESTART:
                yield Expected(kind="server_stopped", ns=ns, from_ms=at, to_ms=at + _SOON_MS)
                yield Expected(kind="server_started", ns=ns, from_ms=until, to_ms=until + _SOON_MS)
            case FaultKind.CHURN:
                yield from _topic_seen(incident, ns, at)
            case FaultKind.SWITCH:
                for member in incident.members:
                    yield from _switch_seen(member, ns, at, became_master=member == new_master)
            case FaultKind.SLOW:
                pass  # visible only in heartbeat_minute
            case FaultKind.FLAP:
                for down, up in incident.downs:
                    for member in incident.members:
                        yield from _gone(member, ns, start_ms + down, start_ms + up, reason="closed")
            case FaultKind.CRASH if not incident.silent:
                for member in incident.members:
                    yield from _gone(member, ns, at, until, reason="closed")
            case FaultKind.STOP:
                for member in incident.members:
                    yield from _gone(member, ns, at, until, reason="unregistered")
            case FaultKind.CRASH | FaultKind.FREEZE | FaultKind.CUT:
                for member in incident.members:
                    yield from _silent(incident, member, ns, at, until, timing)


def _gone(member: Member, ns: str, at: int, until: int, *, reason: str) -> Iterable[Expected]:
    yield _event("broker_down", member, ns, at, at + _SOON_MS, reasons=(reason,))
    yield _event("broker_up", member, ns, until, until + _START_MS)


def _silent(incident: Incident, member: Member, ns: str, at: int, until: int, timing: Timing) -> Iterable[Expected]:
    """Silence is detected when the lease expires. If it ends earlier, at most a closed connection is detected."""
    earliest = at - timing.beat_ms - timing.slack_ms + timing.timeout_ms
    latest = at + timing.timeout_ms + timing.scan_ms + _SOON_MS
    kept = timing.keeps(incident.members)
    back_ms = RECONNECT_MS + _START_MS
    if incident.kind is FaultKind.CUT:
        back_ms += RECONNECT_MS + timing.register_ms + timing.register_ms // 3
        # The broker closes its side if a registration is not answered; the NameServer detects that after the partition.
        closes_from = at + CALL_MS
        closes_by = at + timing.register_ms + timing.register_ms // 3 + CALL_MS
        if until > closes_from and until < latest:
            certain = closes_by < until < earliest and not kept
            yield _event(
                "broker_down", member, ns, until, until + RECONNECT_MS + _SOON_MS, reasons=("closed",), certain=certain
            )
            yield _event("broker_up", member, ns, until, until + back_ms, certain=certain)
    if until <= earliest:
        return
    certain = until >= latest and not kept
    yield _event("broker_down", member, ns, earliest, latest, reasons=_SILENCE, certain=certain)
    yield _event("broker_up", member, ns, until, until + back_ms, certain=certain)


def _switch_seen(member: Member, ns: str, at: int, *, became_master: bool) -> Iterable[Expected]:
    if became_master:
        yield _event("broker_changed", member, ns, at, at + _SOON_MS)
    else:
        yield _event("broker_down", member, ns, at, at + _SOON_MS, reasons=("replaced",))
        yield _event("broker_up", member, ns, at, at + _START_MS)


def _topic_seen(incident: Incident, ns: str, at: int) -> Iterable[Expected]:
    change = incident.change
    if change is None:
        return
    if change.deleted:
        topic = change.topic.topic_name
        yield Expected(kind="topic_deleted", ns=ns, topic=topic, from_ms=at, to_ms=at + _SOON_MS)
        return
    for broker in change.groups:
        yield Expected(
            kind="topics_changed",
            ns=ns,
            broker=broker,
            topic=change.topic.topic_name,
            from_ms=at,
            to_ms=at + _SOON_MS,
        )


def _event(
    kind: str, member: Member, ns: str, from_ms: int, to_ms: int, *, reasons: tuple[str, ...] = (), certain: bool = True
) -> Expected:
    return Expected(
        kind=kind,
        ns=ns,
        broker=member.broker,
        addr=member.addr,
        reasons=reasons,
        from_ms=from_ms,
        to_ms=to_ms,
        certain=certain,
    )

"""Checks a recorded history against four guarantees. Pure: the same history gives the same violations.

    ghost     a route contains a broker that has been gone for longer than its timeout plus one scan
    missing   a live broker has been missing from a route for longer than its registration period
    silence   a NameServer did not answer, although it had no fault, or none for `answer_s`
    lost      an acknowledged write is missing at the end

A guarantee does not apply to a NameServer during a fault, nor afterwards for the time that the guarantee permits: a
process that was stopped for a minute cannot have scanned meanwhile.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

from tests.chaos.history import Fault, History, Observation, Seen, Uptime


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The guaranteed times. `grace_s` is added to each, for delays of the testing machine."""

    timeout_s: float
    scan_s: float
    period_s: float
    answer_s: float = 5.0
    grace_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Violation:
    guarantee: str
    nameserver: str
    at: float
    about: str


def check(history: History, terms: Terms) -> list[Violation]:
    """All violations, in order of time."""
    faults = defaultdict[str, list[Fault]](list)
    for fault in sorted(history.faults, key=lambda fault: fault.began):
        faults[fault.nameserver].append(fault)
    uptimes = defaultdict[str, list[Uptime]](list)
    for uptime in sorted(history.uptimes, key=lambda uptime: uptime.began):
        uptimes[uptime.broker].append(uptime)
    found = [*_lost(history), *_late(history, faults, terms)]
    for seen in history.observations:
        calm_since = _calm_since(faults[seen.nameserver], seen.began, seen.ended)
        if isinstance(seen, Seen):
            for broker, its in uptimes.items():
                found += _judge(seen, broker, its, calm_since, terms)
        elif calm_since is not None and seen.began - calm_since > terms.answer_s + terms.grace_s:
            found.append(_violation("silence", seen, "a look-up was not answered"))
    return sorted(found, key=lambda violation: violation.at)


def _judge(seen: Seen, broker: str, uptimes: list[Uptime], calm_since: float | None, terms: Terms) -> list[Violation]:
    """Whether the broker should be in the observed route."""
    number = bisect_right(uptimes, seen.began, key=lambda uptime: uptime.began) - 1
    uptime = uptimes[number] if number >= 0 else None
    began_meanwhile = number + 1 < len(uptimes) and uptimes[number + 1].began <= seen.ended
    if broker in seen.brokers:
        if calm_since is None or began_meanwhile or uptime is None or uptime.ended is None:
            return (
                [] if uptime is not None or began_meanwhile else [_violation("ghost", seen, f"{broker} never existed")]
            )
        gone_s = seen.began - max(uptime.ended, calm_since)
        if gone_s > terms.timeout_s + terms.scan_s + terms.grace_s:
            return [_violation("ghost", seen, f"{broker} has been gone for {gone_s:.1f} s")]
        return []
    if calm_since is None or uptime is None or (uptime.ended is not None and uptime.ended <= seen.ended):
        return []
    up_s = seen.began - max(uptime.began, calm_since)
    if up_s > terms.period_s + terms.grace_s:
        return [_violation("missing", seen, f"{broker} has been up for {up_s:.1f} s")]
    return []


def _calm_since(faults: list[Fault], began: float, ended: float) -> float | None:
    """The end of the last fault; None during a fault; minus infinity without any fault."""
    since = float("-inf")
    for fault in faults:
        if fault.began <= ended and fault.ended >= began:
            return None
        if fault.ended < began:
            since = max(since, fault.ended)
    return since


def _late(history: History, faults: dict[str, list[Fault]], terms: Terms) -> list[Violation]:
    """Faults after which no answer came in time, although no other fault followed."""
    answered = defaultdict[str, list[float]](list)
    for seen in history.observations:
        if isinstance(seen, Seen):
            answered[seen.nameserver].append(seen.ended)
    found = []
    for nameserver, its in faults.items():
        times = sorted(answered[nameserver])
        for fault in its:
            until = fault.ended + terms.answer_s + terms.grace_s
            disturbed = any(other.began <= until and other.ended > fault.ended for other in its if other is not fault)
            next_answer = bisect_right(times, fault.ended)
            in_time = next_answer < len(times) and times[next_answer] <= until
            if not (in_time or disturbed or until > history.ended):
                about = f"no answer within {terms.answer_s:g} s of the end of {fault.kind}"
                found.append(Violation(guarantee="silence", nameserver=nameserver, at=fault.ended, about=about))
    return found


def _lost(history: History) -> list[Violation]:
    found = []
    for write in history.writes:
        kept = history.kept.get((write.nameserver, write.key))
        if kept != write.value:
            about = f"{write.key} was acknowledged as {write.value} but is {kept}"
            found.append(Violation(guarantee="lost", nameserver=write.nameserver, at=history.ended, about=about))
    return found


def _violation(guarantee: str, seen: Observation, about: str) -> Violation:
    return Violation(guarantee=guarantee, nameserver=seen.nameserver, at=seen.began, about=about)

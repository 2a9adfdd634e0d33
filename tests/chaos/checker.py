"""Judges a history by four promises. Pure: the same history has the same violations.

    ghost     a route names a broker that has been gone for longer than its time-out and a scan
    missing   a live broker has been out of a route for longer than it takes to register again
    silence   a NameServer did not answer, and nothing was wrong with it, or not for `answer_s` any more
    lost      an acknowledged write is not there in the end

While something is wrong with a NameServer, and after it for as long as a promise allows for, it is excused from that
promise: whoever was stopped for a minute cannot have scanned meanwhile.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

from tests.chaos.history import Fault, History, Life, Observation, Seen


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is promised. `grace_s` is added to each: what the machine that tests needs for itself."""

    timeout_s: float
    scan_s: float
    period_s: float
    answer_s: float = 5.0
    grace_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Violation:
    promise: str
    nameserver: str
    at: float
    about: str


def check(history: History, terms: Terms) -> list[Violation]:
    """All violations, in order of time."""
    faults = defaultdict[str, list[Fault]](list)
    for fault in sorted(history.faults, key=lambda fault: fault.began):
        faults[fault.nameserver].append(fault)
    lives = defaultdict[str, list[Life]](list)
    for life in sorted(history.lives, key=lambda life: life.began):
        lives[life.broker].append(life)
    found = [*_lost(history), *_late(history, faults, terms)]
    for seen in history.observations:
        calm_since = _calm_since(faults[seen.nameserver], seen.began, seen.ended)
        if isinstance(seen, Seen):
            for broker, its in lives.items():
                found += _judge(seen, broker, its, calm_since, terms)
        elif calm_since is not None and seen.began - calm_since > terms.answer_s + terms.grace_s:
            found.append(_violation("silence", seen, "a look-up was not answered"))
    return sorted(found, key=lambda violation: violation.at)


def _judge(seen: Seen, broker: str, lives: list[Life], calm_since: float | None, terms: Terms) -> list[Violation]:
    """Whether this broker should be in what was seen."""
    number = bisect_right(lives, seen.began, key=lambda life: life.began) - 1
    life = lives[number] if number >= 0 else None
    began_meanwhile = number + 1 < len(lives) and lives[number + 1].began <= seen.ended
    if broker in seen.brokers:
        if calm_since is None or began_meanwhile or life is None or life.ended is None:
            return (
                [] if life is not None or began_meanwhile else [_violation("ghost", seen, f"{broker} never was there")]
            )
        gone_s = seen.began - max(life.ended, calm_since)
        if gone_s > terms.timeout_s + terms.scan_s + terms.grace_s:
            return [_violation("ghost", seen, f"{broker} has been gone for {gone_s:.1f} s")]
        return []
    if calm_since is None or life is None or (life.ended is not None and life.ended <= seen.ended):
        return []
    up_s = seen.began - max(life.began, calm_since)
    if up_s > terms.period_s + terms.grace_s:
        return [_violation("missing", seen, f"{broker} has been up for {up_s:.1f} s")]
    return []


def _calm_since(faults: list[Fault], began: float, ended: float) -> float | None:
    """When the last thing went right again; None while something is wrong. Minus infinity: nothing ever was."""
    since = float("-inf")
    for fault in faults:
        if fault.began <= ended and fault.ended >= began:
            return None
        if fault.ended < began:
            since = max(since, fault.ended)
    return since


def _late(history: History, faults: dict[str, list[Fault]], terms: Terms) -> list[Violation]:
    """Faults after which nothing was answered in time, although nothing else came between."""
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
                found.append(Violation(promise="silence", nameserver=nameserver, at=fault.ended, about=about))
    return found


def _lost(history: History) -> list[Violation]:
    found = []
    for write in history.writes:
        kept = history.kept.get((write.nameserver, write.key))
        if kept != write.value:
            about = f"{write.key} was acknowledged as {write.value}, and is {kept}"
            found.append(Violation(promise="lost", nameserver=write.nameserver, at=history.ended, about=about))
    return found


def _violation(promise: str, seen: Observation, about: str) -> Violation:
    return Violation(promise=promise, nameserver=seen.nameserver, at=seen.began, about=about)

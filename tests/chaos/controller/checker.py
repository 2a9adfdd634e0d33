"""Checks what brokers observed against the guarantees of a Controller. Pure.

    two masters    a set has two masters in one epoch, or two sync-state sets in one of their epochs
    lost           an acknowledged change is missing: a later answer has a lower epoch, an id is unknown or free again
    outside        a master was elected outside the last sync-state set
    id twice       two brokers of a set have received one id
    message        a message that all in-sync replicas have confirmed is missing at the final master

"Later" means that the request was sent after the other answer (or notification) had arrived. Answers that overlap may
be in any order.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.chaos.controller.history import History, IdGiven, Seen


@dataclass(frozen=True, kw_only=True)
class Violation:
    guarantee: str
    of: str
    about: str


@dataclass(kw_only=True)
class Verdict:
    violations: list[Violation]
    elections: int = 0  # observed
    judged_elections: int = 0  # of which the sync-state set before is known


def check(history: History) -> Verdict:
    found = [*_two_masters(history), *_decreasing(history), *_ids(history), *_messages(history)]
    verdict = Verdict(violations=found)
    _judge_elections(history, verdict)
    return verdict


def _two_masters(history: History) -> Iterable[Violation]:
    masters: dict[tuple[str, int], Seen] = {}
    members: dict[tuple[str, int], Seen] = {}
    for seen in history.seen:
        if seen.master and seen.master_epoch is not None:
            first = masters.setdefault((seen.of, seen.master_epoch), seen)
            if first.master != seen.master:
                about = f"epoch {seen.master_epoch}: {first.master} ({first.source}) and {seen.master} ({seen.source})"
                yield Violation(guarantee="two masters", of=seen.of, about=about)
        if seen.members is not None and seen.members_epoch is not None:
            first = members.setdefault((seen.of, seen.members_epoch), seen)
            if first.members != seen.members:
                about = f"set epoch {seen.members_epoch}: {first} and {seen}"
                yield Violation(guarantee="two masters", of=seen.of, about=about)


def _decreasing(history: History) -> Iterable[Violation]:
    by_set = defaultdict[str, list[Seen]](list)
    for seen in history.seen:
        by_set[seen.of].append(seen)
    for of, its in by_set.items():
        yield from _decreases(of, its, "master epoch", lambda seen: seen.master_epoch)
        yield from _decreases(of, its, "sync-state set epoch", lambda seen: seen.members_epoch)


def _decreases(of: str, its: list[Seen], what: str, epoch: Callable[[Seen], int | None]) -> Iterable[Violation]:
    by_end = sorted((seen for seen in its if epoch(seen) is not None), key=lambda seen: seen.ended)
    highest, at = -1, 0
    for seen in sorted((seen for seen in by_end if not seen.notified), key=lambda seen: seen.began):
        while at < len(by_end) and by_end[at].ended < seen.began:
            highest = max(highest, epoch(by_end[at]) or 0)
            at += 1
        found = epoch(seen)
        if found is not None and found < highest:
            about = f"{what} {found} after {highest} had been seen: {seen}"
            yield Violation(guarantee="lost", of=of, about=about)


def _ids(history: History) -> Iterable[Violation]:
    owners: dict[tuple[str, int], str] = {}
    for given in history.ids:
        owner = owners.setdefault((given.of, given.number), given.check_code)
        if owner != given.check_code:
            about = f"id {given.number}: {owner} and {given.check_code}"
            yield Violation(guarantee="id twice", of=given.of, about=about)
    by_set = defaultdict[str, list[IdGiven]](list)
    for given in history.ids:
        by_set[given.of].append(given)
    for offered in history.next_ids:
        taken = [one.number for one in by_set[offered.of] if one.ended < offered.began]
        if taken and offered.number <= max(taken):
            about = f"id {offered.number} was offered after {max(taken)} had been given"
            yield Violation(guarantee="lost", of=offered.of, about=about)
    for unknown in history.unknown:
        if any(one.number == unknown.number and one.ended < unknown.began for one in by_set[unknown.of]):
            yield Violation(guarantee="lost", of=unknown.of, about=f"id {unknown.number} is unknown after it was given")


def _messages(history: History) -> Iterable[Violation]:
    for of, messages in history.acknowledged.items():
        missing = [message for message in messages if message not in history.kept.get(of, set())]
        if missing:
            about = f"{len(missing)} of {len(messages)} messages, the first is {missing[0]}"
            yield Violation(guarantee="message", of=of, about=about)


def _judge_elections(history: History, verdict: Verdict) -> None:
    members: dict[tuple[str, int], frozenset[int]] = {}
    for seen in history.seen:
        if seen.members is not None and seen.members_epoch is not None:
            members[seen.of, seen.members_epoch] = seen.members
    judged: set[tuple[str, int]] = set()
    for seen in history.seen:
        if not (seen.elected and seen.master and seen.members_epoch is not None):
            continue
        if (seen.of, seen.members_epoch) in judged:
            continue
        judged.add((seen.of, seen.members_epoch))
        before = members.get((seen.of, seen.members_epoch - 1))
        verdict.elections += 1
        verdict.judged_elections += bool(before)
        if before and seen.master not in before:
            about = f"{seen.master} was elected in epoch {seen.master_epoch}, but only {sorted(before)} were in sync"
            verdict.violations.append(Violation(guarantee="outside", of=seen.of, about=about))

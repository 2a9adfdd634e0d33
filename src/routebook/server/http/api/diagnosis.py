"""`/v1/routes/{topic}/why` and `/v1/brokers/{name}/maintenance`: explanations and plans for operators."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from litestar import Request, get

from routebook.access.classes import Access
from routebook.codes import PERM_WRITE
from routebook.doctor.maintenance import MaintenancePlan, Surroundings, plan
from routebook.doctor.why import Downtime, Facts, Protection, Why, departure, explain, without_senders
from routebook.events import PreservationEntered
from routebook.handlers import NameServer
from routebook.history.query.answers import PastRoute
from routebook.history.query.history import History
from routebook.journal.read.backwards import Page, find_newest
from routebook.journal.read.select import Selection
from routebook.server.http.api.parameters import At, NameInPath, find_group, from_path, parse_time, query_history
from routebook.server.http.api.parts import ContextDep, Parts, PartsDep
from routebook.server.http.auth.authenticate import caller_of
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import error_specs
from routebook.server.http.live.hub import MINUTE_KINDS
from routebook.server.http.views import tables
from routebook.server.http.views.answers import MemberState
from routebook.server.http.views.impact import impact_of

_MAX_VERSIONS: Final = 50
_NEARBY_MS: Final = 30_000
_INDEX_WAIT_S: Final = 5.0  # the history follows the tables within seconds
_INDEX_POLL_S: Final = 0.1
_PROTECTION_KINDS: Final = frozenset({"preservation_entered", "preservation_left"})
_MAX_SEARCHED: Final = 2000  # records before the time


@get("/v1/routes/{topic:str}/why", summary="Why a topic has no route, or a limited one", responses=error_specs(503))
async def why(request: Request[Any, Any, Any], parts: PartsDep, topic: NameInPath, at: At = None) -> Why:
    """The cause (`cause.kind`, `cause.broker`) and the evidence, now or at a past time.

    Addresses and names of operators are shown to callers with `admin_read`.
    """
    topic, now_ms = from_path(topic), parts.context.wall_ms()
    if at is None:
        protection = _current_protection(parts.context)
        facts = await _indexed_facts(parts, topic, now_ms, protection, is_now=True)
    else:
        at_ms = min(parse_time(at, now_ms), now_ms)
        facts = await _indexed_facts(parts, topic, at_ms, await _past_protection(parts, at_ms), is_now=False)
    identity = caller_of(request).identity
    if parts.context.access is not None and (identity is None or not identity.may(Access.ADMIN_READ)):
        facts = without_senders(facts)
    return explain(facts)


@get("/v1/brokers/{name:str}/maintenance", summary="Whether a broker can be restarted now", responses=error_specs(404))
async def maintenance(context: ContextDep, name: NameInPath) -> MaintenancePlan:
    """Topics that would have no broker, other reasons for and against, and the steps of a restart."""
    broker, ns, now_ms = from_path(name), context.nameserver, context.now_ms()
    group = find_group(ns, broker)
    unstable = _unstable_groups(ns, now_ms)
    impact = await impact_of(ns, broker, unstable=unstable)
    peers = [] if context.peers is None else context.peers.report()
    return plan(
        impact,
        Surroundings(
            broker=broker,
            cluster=group.cluster,
            at_ms=now_ms,
            members=len(group.members),
            nameserver=context.listen,
            unstable={name: state for name, state in unstable.items() if name != broker},
            is_protecting=ns.expiry_protection.since_ms is not None,
            diverged_peers=tuple(peer.peer for peer in peers if peer.state == "diverged"),
            unreachable_peers=tuple(peer.peer for peer in peers if peer.state == "unreachable"),
        ),
    )


async def _indexed_facts(parts: Parts, topic: str, at_ms: int, protection: Protection | None, *, is_now: bool) -> Facts:
    """Facts about a route, once the history has caught up with the journal, for a bounded time."""
    journal = parts.context.journal
    last_seq = 0 if journal is None else journal.status().last_seq
    deadline_s = asyncio.get_running_loop().time() + _INDEX_WAIT_S
    while True:
        facts = await query_history(parts, lambda history: _facts(history, topic, at_ms, protection))
        extent = facts.certainty.extent
        is_indexed = extent is not None and (extent.last_seq >= last_seq or extent.to_ms > at_ms)
        if is_indexed or (is_now and facts.route is not None and _has_same_route(parts.context.nameserver, facts)):
            return facts
        if asyncio.get_running_loop().time() > deadline_s:
            return facts
        await asyncio.sleep(_INDEX_POLL_S)


def _has_same_route(ns: NameServer, facts: Facts) -> bool:
    """Whether the history has the same brokers and permissions as the tables."""
    live = {name: queue.perm & PERM_WRITE for name, queue in (ns.routes.queues(facts.topic) or {}).items()}
    past = {} if facts.route is None else {one.broker_name: one.perm & PERM_WRITE for one in facts.route.queue_datas}
    return live == past


def _facts(history: History, topic: str, at_ms: int, protection: Protection | None) -> Facts:
    """Query the history. Blocking."""
    found: PastRoute = history.route_at(topic, at_ms)
    timeline = history.timeline(topic, limit=_MAX_VERSIONS, before_ms=at_ms)
    gone = departure(timeline.versions)
    nearby: tuple[str, ...] = ()
    if gone is not None and gone.cause.kind == "broker_down":
        removed = {step.broker for step in gone.steps}
        nearby = _departures(history, gone.cause.at_ms, without=removed.__contains__)
    return Facts(
        topic=topic,
        at_ms=at_ms,
        route=found.route,
        versions=timeline.versions,
        certainty=found.certainty,
        downtime=None if found.certainty.observed or not found.certainty.known else _downtime(history, at_ms),
        protection=protection,
        left_nearby=nearby,
    )


def _departures(history: History, around_ms: int, *, without: Callable[[str], bool]) -> tuple[str, ...]:
    """Other brokers that left unplanned near a time."""
    sessions, _ = history.members(since_ms=around_ms - _NEARBY_MS)
    return tuple(
        name
        for name, some in sessions.items()
        if not without(name)
        and any(
            one.to_ms is not None and abs(one.to_ms - around_ms) <= _NEARBY_MS and one.planned is False for one in some
        )
    )


def _downtime(history: History, at_ms: int) -> Downtime | None:
    """The interval around a time in which the NameServer did not run."""
    runs = history.runs()
    before = [run for run in runs if run.to_ms is not None and run.from_ms <= at_ms and run.to_ms < at_ms]
    after = [run for run in runs if run.from_ms > at_ms]
    if not before or before[-1].to_ms is None:
        return None
    until_ms = after[0].from_ms if after else None
    return Downtime(from_ms=before[-1].to_ms, to_ms=until_ms, clean=before[-1].ended == "stopped")


def _current_protection(context: HttpContext) -> Protection | None:
    protection = context.nameserver.expiry_protection
    if protection.since_ms is None:
        return None
    return Protection(since_ms=protection.since_ms, silent=frozenset(key.addr for key in protection.silent))


async def _past_protection(parts: Parts, at_ms: int) -> Protection | None:
    """Mass-expiry protection at a time, from the journal; the record names the first silent brokers."""
    files = parts.context.journal_files
    if files is None:
        return None
    page = Page(limit=1, at_ms=at_ms, excluded_kinds=MINUTE_KINDS, max_decoded=_MAX_SEARCHED)
    found = await parts.threads.run(lambda: find_newest(files, page, Selection(kinds=_PROTECTION_KINDS)))
    for record in found.records:
        if isinstance(record.event, PreservationEntered):
            return Protection(since_ms=record.at, silent=frozenset(record.event.addrs))
    return None


def _unstable_groups(ns: NameServer, now_ms: int) -> dict[str, str]:
    """Groups of which no member is certain to be up: it was recovered after a restart, or its heartbeat is late."""
    found: dict[str, str] = {}
    for name, group in ns.routes.group_table.items():
        leases = [ns.routes.lease_table[key] for key in group.members.values()]
        states = {tables.state_of(lease, lease.memberships[name], now_ms) for lease in leases}
        if MemberState.REGISTERED not in states:
            found[name] = " and ".join(sorted(state.value for state in states))
    return found

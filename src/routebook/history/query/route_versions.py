"""Versions of a topic's route: its state at a sequence number, the events that changed it, and the differences."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from routebook.codes import PERM_WRITE
from routebook.history.index.buckets import Cell
from routebook.history.query.answers import RouteStep
from routebook.history.query.event_times import EventTimes
from routebook.history.query.lookup import RoutePart, TopicLookup
from routebook.model import BrokerData, QueueData, TopicQueueMappingInfo, TopicRoute

_MAX_UNCHANGED: Final = 5000  # consecutive candidates without a change of the route, before the search ends


class RouteState(msgspec.Struct, frozen=True):
    """A route by broker id. None means that the broker contributes nothing."""

    parts: Mapping[int, RoutePart | None]
    mappings: Mapping[int, TopicQueueMappingInfo]

    def replaced(self, other: "RouteState") -> "RouteState":
        """Replace the parts that `other` has, and the mappings."""
        parts = {broker: part for broker, part in {**self.parts, **other.parts}.items() if part is not None}
        return RouteState(parts, other.mappings)


class RouteChange(NamedTuple):
    """A change of the route: the sequence number of its cause, and the parts that were different before."""

    cause: int
    before: RouteState


def route_state(topics: TopicLookup, seq: int) -> RouteState:
    """Return the route as of a sequence number."""
    parts = {broker: part for broker in topics.brokers if (part := topics.part(broker, seq)) is not None}
    return RouteState(parts, topics.mappings(seq))


class RouteChanges:
    """Finds the events that changed a route. While `has_route` returns False, mappings do not count."""

    def __init__(self, topics: TopicLookup, times: EventTimes, has_route: Callable[[], bool]) -> None:
        self._topics = topics
        self._times = times
        self._has_route = has_route

    def among(self, candidates: Iterable[tuple[int, int | None]]) -> Iterator[RouteChange]:
        """Yield the real changes, in the order of the candidates. The first event of a request is the cause."""
        topics, unchanged = self._topics, 0
        for request, hits in groupby(candidates, key=lambda hit: self._times.request_range(hit[0])):
            if request is None or unchanged >= _MAX_UNCHANGED:
                return
            found = list(hits)
            brokers = {broker for _, broker in found if broker is not None}
            before = {broker: topics.part(broker, request.first - 1) for broker in brokers}
            changed = {broker: part for broker, part in before.items() if part != topics.part(broker, request.last)}
            mappings = topics.mappings(request.first - 1)
            is_mapping = any(broker is None for _, broker in found) and self._has_route()
            if changed or (is_mapping and mappings != topics.mappings(request.last)):
                unchanged = 0
                yield RouteChange(min(seq for seq, _ in found), RouteState(changed, mappings))
            else:
                unchanged += 1


def build_route(state: RouteState, name: Callable[[int], str]) -> TopicRoute | None:
    """Build the route with its brokers sorted by name; None if no broker has queues."""
    parts = sorted((name(broker), part) for broker, part in state.parts.items() if part is not None)
    if not parts:
        return None
    filters = {addr: list(servers) for _, part in parts for addr, servers in part.group.filter_servers.items()}
    return TopicRoute(
        broker_datas=[_broker_data(broker, part) for broker, part in parts],
        filter_server_table=filters,
        queue_datas=[_queue_data(broker, part.queues) for broker, part in parts],
        topic_queue_mapping_by_broker={name(broker): info for broker, info in state.mappings.items()} or None,
    )


def queue_sums(state: RouteState) -> tuple[int, int]:
    """Return the number of read queues and of writable write queues."""
    cells = [part.queues for part in state.parts.values() if part is not None]
    return sum(read for _, read, _, _ in cells), sum(write for perm, _, write, _ in cells if perm & PERM_WRITE)


def steps_between(before: RouteState, after: RouteState, name: Callable[[int], str]) -> list[RouteStep]:
    """Return the differences by broker."""
    steps: list[RouteStep] = []
    for broker in sorted({*before.parts, *after.parts}, key=name):
        old, new = before.parts.get(broker), after.parts.get(broker)
        if old != new:
            steps.append(
                RouteStep(broker=name(broker), change=_change(old, new), before=_describe(old), after=_describe(new))
            )
    mapped = sorted({*before.mappings, *after.mappings}, key=name)
    remapped = [broker for broker in mapped if before.mappings.get(broker) != after.mappings.get(broker)]
    return [*steps, *(RouteStep(broker=name(broker), change="mapping") for broker in remapped)]


def _change(old: RoutePart | None, new: RoutePart | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    perm = ["perm"] if old.queues[0] != new.queues[0] else []
    queues = ["queues"] if old.queues[1:] != new.queues[1:] else []
    members = ["members"] if old.group != new.group else []
    return ", ".join(perm + queues + members)


def _describe(part: RoutePart | None) -> str | None:
    if part is None:
        return None
    perm, read, write, flag = part.queues
    letters = f"{'r' if perm & 4 else '-'}{'w' if perm & 2 else '-'}"
    addrs = ", ".join(f"{broker_id}: {addr}" for broker_id, addr in part.group.addrs.items())
    return f"{letters} read {read} write {write}{f' flag {flag}' if flag else ''} at {addrs}"


def _broker_data(broker: str, part: RoutePart) -> BrokerData:
    group = part.group
    return BrokerData(
        broker_addrs=group.addrs,
        broker_name=broker,
        cluster=group.cluster,
        enable_acting_master=group.acting_master,
        zone_name=group.zone,
    )


def _queue_data(broker: str, queues: Cell) -> QueueData:
    perm, read, write, flag = queues
    return QueueData(broker_name=broker, perm=perm, read_queue_nums=read, topic_sys_flag=flag, write_queue_nums=write)

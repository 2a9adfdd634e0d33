"""A topic's route put together of its parts, and what changed from one to the next. Pure."""

from collections.abc import Callable, Mapping

import msgspec

from routebook.codes import PERM_WRITE
from routebook.history.index.buckets import Cell
from routebook.history.query.answers import RouteStep
from routebook.history.query.lookup import Part
from routebook.model import BrokerData, QueueData, TopicQueueMappingInfo, TopicRoute


class State(msgspec.Struct, frozen=True):
    """A route by broker number. A part that is None is no part."""

    parts: Mapping[int, Part | None]
    mappings: Mapping[int, TopicQueueMappingInfo]

    def replaced(self, other: "State") -> "State":
        """With the parts of the other where it tells of one, and its mappings."""
        parts = {broker: part for broker, part in {**self.parts, **other.parts}.items() if part is not None}
        return State(parts, other.mappings)


def build_route(state: State, name: Callable[[int], str]) -> TopicRoute | None:
    """The route, its brokers by name; None where no broker has queues."""
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


def queue_sums(state: State) -> tuple[int, int]:
    """Queues to read from, and to write to where writing is allowed."""
    cells = [part.queues for part in state.parts.values() if part is not None]
    return sum(read for _, read, _, _ in cells), sum(write for perm, _, write, _ in cells if perm & PERM_WRITE)


def steps_between(before: State, after: State, name: Callable[[int], str]) -> list[RouteStep]:
    """What is new, by broker."""
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


def _change(old: Part | None, new: Part | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    perm = ["perm"] if old.queues[0] != new.queues[0] else []
    queues = ["queues"] if old.queues[1:] != new.queues[1:] else []
    members = ["members"] if old.group != new.group else []
    return ", ".join(perm + queues + members)


def _describe(part: Part | None) -> str | None:
    if part is None:
        return None
    perm, read, write, flag = part.queues
    letters = f"{'r' if perm & 4 else '-'}{'w' if perm & 2 else '-'}"
    addrs = ", ".join(f"{broker_id}: {addr}" for broker_id, addr in part.group.addrs.items())
    return f"{letters} read {read} write {write}{f' flag {flag}' if flag else ''} at {addrs}"


def _broker_data(broker: str, part: Part) -> BrokerData:
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

"""What a Controller node shows about itself and its sets. Pure."""

import msgspec

from routebook.controller.liveness import BrokerId, LiveView
from routebook.controller.machine import Machine


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the Controller group."""

    id: str
    address: str
    leads: bool
    is_self: bool


class NodeOverview(msgspec.Struct, frozen=True, kw_only=True):
    """One node: its group, the leader as far as it knows, and its log."""

    group: str
    node: str
    address: str
    engine: str
    is_leader: bool
    leader: str | None
    peers: list[Peer]
    problem: str | None
    unclean_elections: bool  # whether a replica that is not in sync may become master
    live_brokers: int


class ReplicaView(msgspec.Struct, frozen=True, kw_only=True):
    """A broker of a set, as its heartbeats at this node describe it."""

    id: int
    addr: str
    is_master: bool
    in_sync: bool
    alive: bool
    epoch: int | None
    max_offset: int | None
    priority: int | None
    last_heartbeat_ms: int | None


class SetView(msgspec.Struct, frozen=True, kw_only=True):
    """A broker set now."""

    broker: str
    cluster: str
    master_id: int | None
    master_addr: str | None
    master_epoch: int
    sync_state_epoch: int
    next_id: int
    replicas: list[ReplicaView]


def set_view(machine: Machine, name: str, now_ms: int) -> SetView | None:
    """A set as this node has it; None: unknown."""
    state = machine.sets.get(name)
    if state is None:
        return None
    live = LiveView(machine.live, now_ms)

    def replica(number: int, addr: str) -> ReplicaView:
        last_ms = machine.live.last_ms(BrokerId(state.cluster, name, number))
        progress = live.progress(state.cluster, name, number)
        return ReplicaView(
            id=number,
            addr=addr,
            is_master=number == state.master_id,
            in_sync=number in state.sync_state_set,
            alive=live.is_alive(state.cluster, name, number),
            epoch=None if last_ms is None else progress.epoch,
            max_offset=None if last_ms is None else progress.max_offset,
            priority=None if last_ms is None else progress.priority,
            last_heartbeat_ms=last_ms,
        )

    return SetView(
        broker=name,
        cluster=state.cluster,
        master_id=state.master_id,
        master_addr=state.master_address,
        master_epoch=state.master_epoch,
        sync_state_epoch=state.sync_state_epoch,
        next_id=state.next_id,
        replicas=[replica(number, one.address) for number, one in state.replicas.items()],
    )


def set_views(machine: Machine, now_ms: int) -> list[SetView]:
    """All sets, by name."""
    found = (set_view(machine, name, now_ms) for name in sorted(machine.sets))
    return [one for one in found if one is not None]

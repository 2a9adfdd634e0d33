"""The state of one broker set, and how each event changes it."""

from typing import Final, assert_never

import msgspec

NO_MASTER: Final = None


class Replica(msgspec.Struct, frozen=True):
    """A broker of a set. `check_code` (ADDRESS;MILLIS) identifies the application that got the id."""

    address: str
    check_code: str


class BrokerSet(msgspec.Struct, frozen=True, kw_only=True):
    """All brokers with one name. `retired` holds ids that were cleaned, so that an id is never assigned twice."""

    cluster: str
    name: str
    replicas: dict[int, Replica] = {}
    retired: frozenset[int] = frozenset()
    master_id: int | None = NO_MASTER
    master_epoch: int = 0
    sync_state_set: tuple[int, ...] = ()  # ascending
    sync_state_epoch: int = 0

    @property
    def next_id(self) -> int:
        # Java counts applications instead, so ids applied out of turn collide later
        return max((*self.replicas, *self.retired), default=0) + 1

    @property
    def master_address(self) -> str | None:
        replica = None if self.master_id is None else self.replicas.get(self.master_id)
        return None if replica is None else replica.address

    @property
    def is_first_election(self) -> bool:
        """Whether any registered broker may become master: the set has no master and no in-sync replica."""
        return self.master_id is None and not self.sync_state_set


class IdApplied(msgspec.Struct, frozen=True, tag=True):
    """A broker received its id."""

    cluster: str
    broker: str
    broker_id: int
    address: str
    check_code: str


class AddressChanged(msgspec.Struct, frozen=True, tag=True):
    """A broker registered with another address."""

    broker: str
    broker_id: int
    address: str


class SyncStateSetChanged(msgspec.Struct, frozen=True, tag=True):
    """The master reported another set of in-sync replicas."""

    broker: str
    members: tuple[int, ...]


class MasterElected(msgspec.Struct, frozen=True, tag=True):
    """A replica became master. `unclean`: it was not in the sync-state set."""

    broker: str
    broker_id: int
    unclean: bool = False


class MasterLost(msgspec.Struct, frozen=True, tag=True):
    """The master is gone and no replica can replace it."""

    broker: str


class ReplicasRemoved(msgspec.Struct, frozen=True, tag=True):
    """An operator removed replicas; without ids, the whole set."""

    broker: str
    broker_ids: tuple[int, ...] | None


Event = IdApplied | AddressChanged | SyncStateSetChanged | MasterElected | MasterLost | ReplicasRemoved


class StateError(ValueError):
    """An event that does not fit the state: the log is damaged, or was written for another state."""


def apply(before: BrokerSet | None, event: Event) -> BrokerSet | None:
    """The state after an event; None: the set does not exist."""
    if isinstance(event, IdApplied):
        state = before or BrokerSet(cluster=event.cluster, name=event.broker)
        replica = Replica(event.address, event.check_code)
        return msgspec.structs.replace(state, replicas=_sorted({**state.replicas, event.broker_id: replica}))
    if before is None:
        raise StateError(f"{type(event).__name__} for the unknown broker set {event.broker}")
    match event:
        case AddressChanged():
            changed = msgspec.structs.replace(before.replicas[event.broker_id], address=event.address)
            return msgspec.structs.replace(before, replicas={**before.replicas, event.broker_id: changed})
        case SyncStateSetChanged():
            return msgspec.structs.replace(
                before, sync_state_set=event.members, sync_state_epoch=before.sync_state_epoch + 1
            )
        case MasterElected():
            return msgspec.structs.replace(
                before,
                master_id=event.broker_id,
                master_epoch=before.master_epoch + 1,
                sync_state_set=(event.broker_id,),
                sync_state_epoch=before.sync_state_epoch + 1,
            )
        case MasterLost():
            return msgspec.structs.replace(before, master_id=NO_MASTER, master_epoch=before.master_epoch + 1)
        case ReplicasRemoved():
            return _removed(before, event)
        case _:
            assert_never(event)


def _removed(before: BrokerSet, event: ReplicasRemoved) -> BrokerSet | None:
    if event.broker_ids is None:
        return None
    gone = set(event.broker_ids) & before.replicas.keys()
    replicas = {number: replica for number, replica in before.replicas.items() if number not in gone}
    if not replicas:
        return None
    members = tuple(number for number in before.sync_state_set if number not in gone)
    lost_master = before.master_id in gone
    return msgspec.structs.replace(
        before,
        replicas=replicas,
        retired=before.retired | gone,
        master_id=NO_MASTER if lost_master else before.master_id,
        master_epoch=before.master_epoch + lost_master,
        sync_state_set=members,
        sync_state_epoch=before.sync_state_epoch + (members != before.sync_state_set),
    )


def _sorted(replicas: dict[int, Replica]) -> dict[int, Replica]:
    return {number: replicas[number] for number in sorted(replicas)}

"""Replays the Controller's events into the state of each broker set."""

from collections.abc import Mapping

import msgspec

from routebook.controller_events import (
    BrokerIdAssigned,
    BrokerSetState,
    ControllerEvent,
    ControllerLeader,
    ElectionEvent,
    MasterElected,
    ReplicaMoved,
    ReplicasCleaned,
    SyncStateChanged,
)


class SetState(msgspec.Struct, frozen=True, array_like=True):
    """A set: its master, epochs and in-sync replicas, and the address of each replica by id."""

    cluster: str
    master_id: int | None = None
    master_epoch: int = 0
    sync_state_epoch: int = 0
    in_sync: tuple[int, ...] = ()
    replicas: dict[int, str] = {}


class SetReplay:
    """All sets as of the last event."""

    def __init__(self, states: Mapping[str, SetState]) -> None:
        self._states = dict(states)

    def apply(self, event: ControllerEvent) -> dict[str, SetState | None]:
        """Apply an event and return the sets that changed; None: removed."""
        if isinstance(event, ControllerLeader):
            # sets that another node removed while it led
            gone = [name for name in self._states if name not in event.brokers] if event.leads else []
            return self._changed(dict.fromkeys(gone))
        return self._changed({event.broker: _after(self._states.get(event.broker), event)})

    def _changed(self, states: Mapping[str, SetState | None]) -> dict[str, SetState | None]:
        changed = {name: state for name, state in states.items() if state != self._states.get(name)}
        for name, state in changed.items():
            if state is None:
                self._states.pop(name, None)
            else:
                self._states[name] = state
        return changed


def _after(before: SetState | None, event: ControllerEvent) -> SetState | None:
    match event:
        case BrokerSetState():
            return SetState(
                event.cluster,
                event.master_id,
                event.master_epoch,
                event.sync_state_epoch,
                event.in_sync,
                dict(event.replicas),
            )
        case BrokerIdAssigned() | ReplicaMoved():
            state = before or SetState(event.cluster)
            return msgspec.structs.replace(state, replicas={**state.replicas, event.broker_id: event.addr})
        case ReplicasCleaned(removed_set=True):
            return None
        case ReplicasCleaned() if before is not None:
            left = {number: addr for number, addr in before.replicas.items() if number not in event.broker_ids}
            master = None if event.before_id is not None else before.master_id
            return _with_epochs(msgspec.structs.replace(before, replicas=left), event, master)
        case ElectionEvent():
            return _with_epochs(before or SetState(event.cluster), event, _master(event))
        case SyncStateChanged():
            return _with_epochs(before or SetState(event.cluster), event, event.broker_id)
        case _:
            return before


def _master(event: ElectionEvent) -> int | None:
    return event.broker_id if isinstance(event, MasterElected) else None


def _with_epochs(
    state: SetState, event: ElectionEvent | SyncStateChanged | ReplicasCleaned, master_id: int | None
) -> SetState:
    return msgspec.structs.replace(
        state,
        master_id=master_id,
        master_epoch=event.master_epoch,
        sync_state_epoch=event.sync_state_epoch,
        in_sync=event.in_sync,
    )

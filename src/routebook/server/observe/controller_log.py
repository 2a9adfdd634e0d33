"""Log lines of the Controller's events."""

from typing import Final, get_args

from routebook.controller_events import (
    BrokerIdAssigned,
    BrokerSetState,
    ControllerEvent,
    ControllerLeader,
    ElectionEvent,
    MasterElected,
    NoMasterElected,
    ReplicaMoved,
    ReplicasCleaned,
    RoleNotified,
    SyncStateChanged,
)
from routebook.server.observe.log import Log

CONTROLLER_KINDS: Final = get_args(ControllerEvent)


def log_controller_event(log: Log, event: ControllerEvent, peer: str | None) -> None:
    """One line per event; the state that a leader begins with has none."""
    match event:
        case MasterElected():
            write = log.warning if event.unclean else log.info
            new = {"id": event.broker_id, "addr": event.addr, "unclean": event.unclean}
            write("master elected", **_election(event), **new, peer=peer)
        case NoMasterElected():
            log.warning("no master elected", **_election(event), peer=peer)
        case SyncStateChanged():
            change = {"in_sync": event.in_sync, "before": event.before_in_sync, "epoch": event.sync_state_epoch}
            log.info("in-sync replicas changed", broker=event.broker, master=event.broker_id, **change)
        case BrokerIdAssigned():
            log.info("broker id assigned", **_replica(event), peer=peer)
        case ReplicaMoved():
            log.info("replica moved", **_replica(event), before=event.before_addr, peer=peer)
        case ReplicasCleaned():
            removed = {"ids": event.broker_ids, "whole_set": event.removed_set, "lost_master": event.before_id}
            log.info("replicas cleaned", cluster=event.cluster, broker=event.broker, **removed, peer=peer)
        case RoleNotified(why=None):
            log.info("role change sent", broker=event.broker, addr=event.addr, epoch=event.master_epoch)
        case RoleNotified():
            log.warning("role change not sent", broker=event.broker, addr=event.addr, why=event.why)
        case ControllerLeader():
            says = "this Controller node leads" if event.leads else "this Controller node does not lead"
            log.info(says, group=event.controller_group, node=event.node, addr=event.addr)
        case BrokerSetState():
            pass


def _election(event: ElectionEvent) -> dict[str, object]:
    known = {"cluster": event.cluster, "broker": event.broker, "cause": event.cause.value}
    return {**known, "before": event.before_id, "epoch": event.master_epoch, "in_sync": event.in_sync}


def _replica(event: BrokerIdAssigned | ReplicaMoved) -> dict[str, object]:
    return {"cluster": event.cluster, "broker": event.broker, "id": event.broker_id, "addr": event.addr}

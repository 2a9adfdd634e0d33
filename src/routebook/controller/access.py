"""Authorization of the Controller's requests: the class that each needs, and the set that it would change."""

from collections.abc import Mapping
from typing import Final

from routebook.access.classes import Access
from routebook.access.decision import NOTHING, Target
from routebook.controller.codes import ControllerRequest
from routebook.controller.state import BrokerSet
from routebook.wire.command import Command
from routebook.wire.fields import bool_field

_ADMIN_WRITE: Final = (Access.ADMIN_WRITE,)
_NEEDED: Final[dict[int, tuple[Access, ...]]] = {
    ControllerRequest.BROKER_HEARTBEAT: (Access.BROKER_CONTROL,),
    ControllerRequest.CONTROLLER_ALTER_SYNC_STATE_SET: (Access.BROKER_CONTROL,),
    ControllerRequest.CONTROLLER_ELECT_MASTER: (Access.BROKER_CONTROL,),
    ControllerRequest.CONTROLLER_REGISTER_BROKER: (Access.BROKER_CONTROL,),
    ControllerRequest.CONTROLLER_GET_REPLICA_INFO: (Access.BROKER_CONTROL,),
    ControllerRequest.CONTROLLER_GET_METADATA_INFO: (Access.ROUTE_READ,),
    ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA: (Access.ROUTE_READ,),
    ControllerRequest.UPDATE_CONTROLLER_CONFIG: _ADMIN_WRITE,
    ControllerRequest.GET_CONTROLLER_CONFIG: (Access.ADMIN_READ,),
    ControllerRequest.CLEAN_BROKER_DATA: _ADMIN_WRITE,
    ControllerRequest.CONTROLLER_GET_NEXT_BROKER_ID: (Access.BROKER_CONTROL,),
    ControllerRequest.CONTROLLER_APPLY_BROKER_ID: (Access.BROKER_CONTROL,),
}
_READS: Final = frozenset(
    {
        ControllerRequest.CONTROLLER_GET_METADATA_INFO,
        ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA,
        ControllerRequest.GET_CONTROLLER_CONFIG,
    }
)

# Requests of brokers, which are served even under overload.
BROKER_TRAFFIC: Final = frozenset(code for code, access in _NEEDED.items() if Access.BROKER_CONTROL in access) | {
    ControllerRequest.CONTROLLER_GET_METADATA_INFO
}


def needed(command: Command) -> tuple[Access, ...]:
    """The access classes of which one is sufficient. An operator may choose a master, a broker may only ask for one."""
    if command.code == ControllerRequest.CONTROLLER_ELECT_MASTER and bool_field(command, "designateElect"):
        return _ADMIN_WRITE
    return _NEEDED.get(command.code, ())


def target_of(sets: Mapping[str, BrokerSet], command: Command) -> Target:
    """The set that a request would change, with the cluster that it names and the cluster that is stored."""
    if command.code == ControllerRequest.UPDATE_CONTROLLER_CONFIG:
        return Target(whole_server=True)
    name = command.field("brokerName")
    if command.code in _READS or name is None:
        return NOTHING
    known = sets.get(name)
    clusters = {command.field("clusterName"), None if known is None else known.cluster} - {None, ""}
    return Target(clusters=frozenset(cluster for cluster in clusters if cluster), brokers=frozenset({name}))

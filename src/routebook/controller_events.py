"""Events of the Controller: what the leading node committed about broker sets, and what followed. Pure values.

A broker set is all brokers with one name; `broker` is this name, and `broker_id` an id that the Controller assigned.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from routebook.event_base import BaseEvent, RequestEvent


class ElectionCause(StrEnum):
    """Why a master was looked for."""

    FIRST = "first"  # the set never had a master
    CLOSED = "closed"  # the connection of the master closed
    EXPIRED = "expired"  # the master sent no heartbeat within its timeout
    LEADER_START = "leader_start"  # a node that became the leader found the master dead
    SCAN = "scan"  # the periodic scan of the leader found the master dead
    OPERATOR = "operator"  # an operator chose the master (1002 with designateElect)
    BROKER = "broker"  # a broker of the set asked (1002)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A replica that an election considered, as its last heartbeat described it."""

    id: int
    alive: bool
    epoch: int = -1
    max_offset: int = -1
    priority: int = 2**31 - 1


class SetEvent(RequestEvent, frozen=True, kw_only=True):
    """Base of changes of a set; `master_id` to `members` describe the set after the change."""

    cluster: str
    broker: str
    master_id: int | None = None
    master_epoch: int = 0
    sync_state_epoch: int = 0
    in_sync: tuple[int, ...] = ()
    members: tuple[int, ...] = ()  # the ids of all replicas


class ElectionEvent(SetEvent, frozen=True, kw_only=True):
    """Base of both outcomes of an election; `before_…` is the state before it.

    `lost_at_ms` is when the last master was last seen: its connection closed, or its last heartbeat arrived.
    """

    cause: ElectionCause
    before_id: int | None = None  # the previous master; None: there was none
    before_addr: str | None = None
    before_in_sync: tuple[int, ...] = ()
    lost_at_ms: int | None = None
    candidates: tuple[Candidate, ...] = ()


class MasterElected(ElectionEvent, frozen=True, kw_only=True, tag_field="kind", tag="master_elected"):
    """A replica became master. `unclean`: it was not in sync, so messages may be lost."""

    broker_id: int
    addr: str | None = None
    unclean: bool = False


class NoMasterElected(ElectionEvent, frozen=True, kw_only=True, tag_field="kind", tag="no_master_elected"):
    """An election found no candidate. With a `before_id` the set lost its master here.

    Repetitions without a change in between are not recorded: brokers of a set without a master ask every 5 s.
    """


class SyncStateChanged(SetEvent, frozen=True, kw_only=True, tag_field="kind", tag="sync_state_changed"):
    """The master reported another set of in-sync replicas (1001)."""

    broker_id: int  # the master
    before_in_sync: tuple[int, ...] = ()


class BrokerIdAssigned(SetEvent, frozen=True, kw_only=True, tag_field="kind", tag="broker_id_assigned"):
    """A broker received its id (1013)."""

    broker_id: int
    addr: str


class ReplicaMoved(SetEvent, frozen=True, kw_only=True, tag_field="kind", tag="replica_moved"):
    """A broker registered with another address (1003)."""

    broker_id: int
    addr: str
    before_addr: str


class ReplicasCleaned(SetEvent, frozen=True, kw_only=True, tag_field="kind", tag="replicas_cleaned"):
    """An operator removed replicas from the Controller (1011).

    `removed_set`: the whole set. `before_id` is the master if it was among them.
    """

    broker_ids: tuple[int, ...]
    removed_set: bool = False
    before_id: int | None = None


class RoleNotified(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="role_notified"):
    """A role change was sent to a replica (1008), or could not be sent: then `why` is the reason."""

    broker: str
    addr: str
    master_epoch: int
    why: str | None = None


class ControllerLeader(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="controller_leader"):
    """This node began to lead the Controller group with these sets (`brokers`), or stopped to."""

    controller_group: str
    node: str
    addr: str
    leads: bool
    brokers: tuple[str, ...] = ()


class BrokerSetState(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="broker_set_state"):
    """A set as the leader found it when it began to lead: other nodes may have changed it before."""

    cluster: str
    broker: str
    master_id: int | None = None
    master_epoch: int = 0
    sync_state_epoch: int = 0
    in_sync: tuple[int, ...] = ()
    replicas: dict[int, str] = {}  # addresses by id


ControllerEvent: TypeAlias = (
    MasterElected
    | NoMasterElected
    | SyncStateChanged
    | BrokerIdAssigned
    | ReplicaMoved
    | ReplicasCleaned
    | RoleNotified
    | ControllerLeader
    | BrokerSetState
)

"""What the journal records of a Controller's decisions. Pure."""

from typing import Any, NamedTuple

import msgspec

from routebook import controller_events as journal
from routebook.controller.codes import ControllerResponse
from routebook.controller.decide import Answer, Decision
from routebook.controller.liveness import LiveView
from routebook.controller.machine import Machine
from routebook.controller.requests import ElectMaster
from routebook.controller.state import (
    AddressChanged,
    BrokerSet,
    Event,
    IdApplied,
    MasterElected,
    MasterLost,
    ReplicasRemoved,
    SyncStateSetChanged,
)
from routebook.controller_events import Candidate, ControllerEvent, ElectionCause


class Origin(NamedTuple):
    """The sender of a request, for the journal."""

    peer: str | None = None
    who: str | None = None
    code: int | None = None


NO_ORIGIN = Origin()


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An election: why, among whom, and when the previous master was last seen (on the service's clock)."""

    cause: ElectionCause
    candidates: tuple[Candidate, ...] = ()
    lost_ms: int | None = None


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """A committed change of one set, or an election that changed nothing (`event` None)."""

    event: Event | None
    before: BrokerSet | None
    after: BrokerSet | None
    election: Attempt | None = None
    origin: Origin = NO_ORIGIN


def attempt(
    request: ElectMaster,
    answer: Answer,
    before: BrokerSet,
    live: LiveView,
    *,
    allow_unclean: bool,
    cause: ElectionCause | None,
    lost_ms: int | None,
) -> Attempt | None:
    """The election that a request caused; None: the master stays. `cause` None: a broker or an operator asked."""
    if answer.code == ControllerResponse.MASTER_STILL_EXIST:
        return None
    if cause is None and request.designated:
        cause = ElectionCause.OPERATOR
    elif cause is None:
        cause = ElectionCause.FIRST if before.master_epoch == 0 else ElectionCause.BROKER
    considered = before.replicas if allow_unclean or before.is_first_election else before.sync_state_set
    candidates = tuple(_candidate(before, live, number) for number in sorted(considered))
    return Attempt(cause=cause, candidates=candidates, lost_ms=lost_ms)


def prepare(
    machine: Machine,
    request: Any,
    *,
    now_ms: int,
    allow_unclean: bool,
    cause: ElectionCause | None,
    lost_ms: int | None,
    origin: Origin,
) -> tuple[Decision, Committed | None]:
    """A decision, and what to record once its event is committed; None: nothing."""
    before = machine.sets.get(request.broker)
    decision = machine.decide(request, now_ms=now_ms, allow_unclean=allow_unclean)
    election = None
    if isinstance(request, ElectMaster) and before is not None:
        live = LiveView(machine.live, now_ms)
        election = attempt(
            request, decision.answer, before, live, allow_unclean=allow_unclean, cause=cause, lost_ms=lost_ms
        )
    if decision.event is None and election is None:
        return decision, None
    after = before if decision.event is None else machine.after(decision.event)
    return decision, Committed(event=decision.event, before=before, after=after, election=election, origin=origin)


def _candidate(state: BrokerSet, live: LiveView, number: int) -> Candidate:
    epoch, max_offset, priority = live.progress(state.cluster, state.name, number)
    alive = live.is_alive(state.cluster, state.name, number)
    return Candidate(id=number, alive=alive, epoch=epoch, max_offset=max_offset, priority=priority)


def journal_event(change: Committed, *, lost_at_ms: int | None = None) -> ControllerEvent | None:
    """The record of a change; `lost_at_ms` is `lost_ms` on the clock of records. None: nothing to record."""
    before, after, event = change.before, change.after, change.event
    if change.election is not None and before is not None and event is None:
        return journal.NoMasterElected(**_attempt(before, before, change.election, lost_at_ms))
    match event:
        case MasterElected() if before is not None and after is not None and change.election is not None:
            return _elected(before, after, change.election, lost_at_ms, unclean=event.unclean)
        case MasterLost() if before is not None and after is not None and change.election is not None:
            return journal.NoMasterElected(**_attempt(before, after, change.election, lost_at_ms))
        case SyncStateSetChanged() if before is not None and after is not None and after.master_id is not None:
            return journal.SyncStateChanged(
                **_state(after), broker_id=after.master_id, before_in_sync=before.sync_state_set
            )
        case IdApplied() if after is not None:
            return journal.BrokerIdAssigned(**_state(after), broker_id=event.broker_id, addr=event.address)
        case AddressChanged() if before is not None and after is not None:
            return journal.ReplicaMoved(
                **_state(after),
                broker_id=event.broker_id,
                addr=event.address,
                before_addr=before.replicas[event.broker_id].address,
            )
        case ReplicasRemoved() if before is not None:
            return _cleaned(before, after)
        case _:
            return None


def set_state(state: BrokerSet) -> journal.BrokerSetState:
    """The whole state of a set."""
    return journal.BrokerSetState(
        cluster=state.cluster,
        broker=state.name,
        master_id=state.master_id,
        master_epoch=state.master_epoch,
        sync_state_epoch=state.sync_state_epoch,
        in_sync=state.sync_state_set,
        replicas={number: replica.address for number, replica in state.replicas.items()},
    )


def _elected(
    before: BrokerSet, after: BrokerSet, election: Attempt, lost_at_ms: int | None, *, unclean: bool
) -> journal.MasterElected:
    assert after.master_id is not None  # noqa: S101 - the event has elected it
    return journal.MasterElected(
        **_attempt(before, after, election, lost_at_ms),
        broker_id=after.master_id,
        addr=after.master_address,
        unclean=unclean,
    )


def _attempt(before: BrokerSet, after: BrokerSet, election: Attempt, lost_at_ms: int | None) -> dict[str, Any]:
    """The fields that elections with and without a master share."""
    return {
        **_state(after),
        "cause": election.cause,
        "before_id": before.master_id,
        "before_addr": before.master_address,
        "before_in_sync": before.sync_state_set,
        "lost_at_ms": lost_at_ms,
        "candidates": election.candidates,
    }


def _cleaned(before: BrokerSet, after: BrokerSet | None) -> journal.ReplicasCleaned:
    left = {} if after is None else after.replicas
    lost_master = before.master_id if after is None or after.master_id is None else None
    return journal.ReplicasCleaned(
        **(_state(after) if after is not None else {"cluster": before.cluster, "broker": before.name}),
        broker_ids=tuple(number for number in before.replicas if number not in left),
        removed_set=after is None,
        before_id=lost_master,
    )


def _state(state: BrokerSet) -> dict[str, Any]:
    """The fields of a SetEvent."""
    return {
        "cluster": state.cluster,
        "broker": state.name,
        "master_id": state.master_id,
        "master_epoch": state.master_epoch,
        "sync_state_epoch": state.sync_state_epoch,
        "in_sync": state.sync_state_set,
        "members": tuple(state.replicas),
    }

"""What an operator's request would change in a set, by the Controller's own decision. Pure."""

from typing import Any, Final

import msgspec

from routebook.controller.machine import Machine
from routebook.controller.state import BrokerSet, MasterElected, apply

_UNCLEAN: Final = "the replica is not in sync: messages that only the old master has are lost"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a preview; None: the line is absent before or after."""

    what: str
    before: str | None
    after: str | None


def preview(machine: Machine, request: Any, *, now_ms: int, allow_unclean: bool) -> tuple[list[Difference], list[str]]:
    """The changes, and remarks; without a change the remark has the reason."""
    decision = machine.decide(request, now_ms=now_ms, allow_unclean=allow_unclean)
    if decision.event is None:
        return [], [decision.answer.remark or "nothing changes"]
    before = machine.sets.get(decision.event.broker)
    notes = [_UNCLEAN] if isinstance(decision.event, MasterElected) and decision.event.unclean else []
    return _differences(before, apply(before, decision.event)), notes


def _differences(before: BrokerSet | None, after: BrokerSet | None) -> list[Difference]:
    was, becomes = _texts(before), _texts(after)
    return [
        Difference(what=what, before=was.get(what), after=becomes.get(what))
        for what in {**was, **becomes}
        if was.get(what) != becomes.get(what)
    ]


def _texts(state: BrokerSet | None) -> dict[str, str]:
    if state is None:
        return {}
    master = "none" if state.master_id is None else f"{state.master_id} at {state.master_address}"
    replicas = {f"replica {number}": replica.address for number, replica in state.replicas.items()}
    return {
        f"master of {state.name}": master,
        "master epoch": str(state.master_epoch),
        "in-sync replicas": ", ".join(map(str, state.sync_state_set)) or "none",
        **replicas,
    }

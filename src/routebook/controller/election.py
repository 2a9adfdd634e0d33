"""The election policy: which replica becomes master. Java: DefaultElectPolicy."""

from collections.abc import Collection

from routebook.controller.liveness import LiveView
from routebook.controller.state import BrokerSet


def elect(state: BrokerSet, live: LiveView, *, preferred: int | None, allow_unclean: bool) -> int | None:
    """The id that should be master: of the sync-state set, or, if allowed, of all replicas; None: no candidate."""
    chosen = _choose(state, live, state.sync_state_set, preferred)
    if chosen is None and allow_unclean:
        chosen = _choose(state, live, state.replicas, preferred)
    return chosen


def _choose(state: BrokerSet, live: LiveView, candidates: Collection[int], preferred: int | None) -> int | None:
    alive = [number for number in sorted(candidates) if live.is_alive(state.cluster, state.name, number)]
    if state.master_id in alive and preferred in (None, state.master_id):
        return state.master_id
    if preferred is not None:
        return preferred if preferred in alive else None
    # ties go to the lower id; Java compares offsets by an int cast, which reverses differences above 2 GiB
    return max(alive, key=lambda number: live.progress(state.cluster, state.name, number).rank, default=None)

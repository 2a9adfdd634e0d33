"""The checks of Controllers and their broker sets."""

from collections.abc import Iterable
from typing import Final

from routebook.codes import ResponseCode
from routebook.doctor.observation import Finding, Observation, Severity, is_local, listed

_DENIED: Final = f"answered {int(ResponseCode.NO_PERMISSION)}:"


def controllers(observed: Observation) -> Iterable[Finding]:
    """Whether all nodes respond, name one leader, and have addresses that brokers can reach."""
    for one in observed.controllers:
        if one.failure is not None:
            advice = "Start it; brokers send heartbeats to all nodes, and a group needs a majority of etcd."
            if one.failure.startswith(_DENIED):
                advice = "Pass the keys of an identity with the class route_read: --access-key and --secret-key."
            yield Finding(Severity.ERROR, "controller", f"Controller {one.who} {one.failure}", advice)
    answering = [one for one in observed.controllers if one.failure is None]
    leaders = {one.leader for one in answering}
    if answering and leaders == {None}:
        advice = "No master can be elected: check etcd, and /v1/health of the Controllers."
        yield Finding(Severity.ERROR, "controller", "no Controller leads", advice)
    elif len(leaders) > 1:
        shown = "; ".join(f"{one.who}: {one.leader or 'none'}" for one in answering)
        advice = "Repeat after a few seconds. If it stays, compare controllerDLegerGroup and the etcd endpoints."
        yield Finding(Severity.WARNING, "controller", f"the Controllers name different leaders: {shown}", advice)
    groups = {one.peers for one in answering}
    if len(groups) > 1:
        advice = "Set the same controllerDLegerPeers on all nodes."
        yield Finding(Severity.WARNING, "controller", "the Controllers have different lists of peers", advice)
    local = sorted({peer for peers in groups for peer in peers if is_local(peer)})
    is_remote = any(not is_local(one.who) for one in observed.controllers)
    is_mixed = any(not is_local(peer) for peers in groups for peer in peers)
    if local and (is_remote or is_mixed):
        text = f"controllerDLegerPeers has addresses that only their own machine can reach: {listed(local)}"
        advice = "Brokers connect to these addresses: use those of the network."
        yield Finding(Severity.ERROR, "controller", text, advice)


def broker_sets(observed: Observation) -> Iterable[Finding]:
    """Whether every set of a Controller has a live master, and its replicas are alive and in sync."""
    for one in observed.broker_sets:
        dead = [f"id {replica.id} at {replica.addr}" for replica in one.replicas if not replica.alive]
        late = [
            f"id {replica.id} at {replica.addr}" for replica in one.replicas if replica.alive and not replica.in_sync
        ]
        if one.master_id is None:
            advice = "Start a replica that was in sync, or elect one: routebook controller elect."
            yield Finding(Severity.ERROR, "sync", f"broker set {one.name} has no master", advice)
        if dead:
            advice = "Start it, or remove it: routebook controller clean."
            text = f"broker set {one.name}: no heartbeat from {listed(dead)}"
            yield Finding(Severity.WARNING, "sync", text, advice)
        if late:
            advice = "It cannot become master until it has caught up: check its disk and network."
            yield Finding(Severity.WARNING, "sync", f"broker set {one.name}: not in sync: {listed(late)}", advice)

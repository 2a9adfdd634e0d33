"""The ground truth of faults of the Controller and its broker sets."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from routebook.fleet.incidents import Incident
from routebook.fleet.scenario import FaultKind
from routebook.fleet.virtual.truth import Expected, Truth

if TYPE_CHECKING:
    from routebook.fleet.virtual.controller import VirtualReplica

BEAT_MS: Final = 1_000  # brokerHeartbeatInterval
TIMEOUT_MS: Final = 10_000  # controllerHeartBeatTimeoutMills
SCAN_MS: Final = 5_000  # scanNotActiveBrokerInterval
ADDRESS: Final = "127.0.0.1:9878"
_SOON_MS: Final = 1_000


def controller_truth(
    incident: Incident,
    number: int,
    at_ms: int,
    *,
    ns: str,
    replicas: "Sequence[VirtualReplica]",
    master: "VirtualReplica | None",
) -> Truth:
    """All replicas are in sync before a fault, so the one with the lowest id is elected."""
    affected = () if master is None else tuple(replicas) if incident.kind is FaultKind.SET_KILLED else (master,)
    silent = incident.kind in (FaultKind.MASTER_FROZEN, FaultKind.MASTER_CUT)
    return Truth(
        id=number,
        fault=str(incident.kind),
        at=at_ms,
        until=at_ms + incident.lasts_ms,
        planned=False,
        brokers=() if master is None else (master.broker,),
        addrs=tuple(one.addr for one in affected),
        nameservers=(ns,),
        granularity_ms=TIMEOUT_MS + SCAN_MS if silent else _SOON_MS,
        expect=tuple(_expected(incident, at_ms, ns, replicas, master)),
    )


def _expected(
    incident: Incident, at: int, ns: str, replicas: "Sequence[VirtualReplica]", master: "VirtualReplica | None"
) -> Iterable[Expected]:
    until = at + incident.lasts_ms
    if incident.kind is FaultKind.CONTROLLER_KILLED:
        yield Expected(kind="controller_leader", ns=ns, addr=ADDRESS, from_ms=until, to_ms=until + _SOON_MS)
        return
    if master is None:
        return
    next_master = next(one for one in replicas if one is not master)

    def elected(addr: str, cause: str, from_ms: int, to_ms: int) -> Expected:
        return Expected(
            kind="master_elected",
            ns=ns,
            broker=master.broker,
            addr=addr,
            reasons=(cause,),
            from_ms=from_ms,
            to_ms=to_ms,
        )

    match incident.kind:
        case FaultKind.MASTER_KILLED:
            yield elected(next_master.addr, "closed", at, at + _SOON_MS)
        case FaultKind.SET_KILLED:
            yield Expected(
                kind="no_master_elected",
                ns=ns,
                broker=master.broker,
                reasons=("closed",),
                from_ms=at,
                to_ms=at + _SOON_MS,
            )
            yield elected(master.addr, "broker", until, until + _SOON_MS)
        case FaultKind.MASTER_FROZEN | FaultKind.MASTER_CUT:
            earliest, latest = at - BEAT_MS + TIMEOUT_MS, at + TIMEOUT_MS + SCAN_MS + _SOON_MS
            if until > latest:
                yield elected(next_master.addr, "expired", earliest, latest)

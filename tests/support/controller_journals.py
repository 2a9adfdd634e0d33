"""The Controller's events for small journals: a pair that fails over, loses its last replica and returns."""

from routebook.controller_events import (
    BrokerIdAssigned,
    Candidate,
    ControllerLeader,
    ElectionCause,
    MasterElected,
    NoMasterElected,
    SyncStateChanged,
)
from tests.support.small_journals import BORN, STARTED, Journal


def leads(*brokers: str, leads: bool = True) -> ControllerLeader:
    return ControllerLeader(controller_group="g", node="n0", addr="h:9878", leads=leads, brokers=brokers)


def assigned(number: int, broker: str = "a") -> BrokerIdAssigned:
    return BrokerIdAssigned(cluster="C", broker=broker, broker_id=number, addr=f"h:{number}", code=1013)


def elected(
    number: int,
    epoch: int,
    cause: ElectionCause,
    *,
    before: int | None = None,
    before_in_sync: tuple[int, ...] = (),
    lost_s: float | None = None,
    who: str | None = None,
) -> MasterElected:
    return MasterElected(
        cluster="C",
        broker="a",
        broker_id=number,
        addr=f"h:{number}",
        cause=cause,
        before_id=before,
        before_addr=None if before is None else f"h:{before}",
        master_epoch=epoch,
        sync_state_epoch=epoch + 1,
        in_sync=(number,),
        before_in_sync=before_in_sync,
        lost_at_ms=None if lost_s is None else BORN + int(lost_s * 1000),
        candidates=(Candidate(id=number, alive=True, epoch=epoch - 1, max_offset=512),),
        who=who,
    )


def lost(epoch: int, before: int, *, lost_s: float) -> NoMasterElected:
    return NoMasterElected(
        cluster="C",
        broker="a",
        cause=ElectionCause.EXPIRED,
        before_id=before,
        before_addr=f"h:{before}",
        master_epoch=epoch,
        sync_state_epoch=epoch,
        in_sync=(before,),
        before_in_sync=(before,),
        lost_at_ms=BORN + int(lost_s * 1000),
    )


def in_sync(*members: int, master: int, epoch: int, before: tuple[int, ...]) -> SyncStateChanged:
    return SyncStateChanged(
        cluster="C",
        broker="a",
        broker_id=master,
        master_epoch=epoch,
        sync_state_epoch=epoch + 2,
        in_sync=members,
        before_in_sync=before,
    )


def write_failover(journal: Journal) -> None:
    """Replica 1 is master from 3 s, 2 from 60.2 s; no master from 130 s to 200 s, then 2 again."""
    journal.write(0, STARTED, leads())
    journal.write(1, assigned(1))
    journal.write(2, assigned(2))
    journal.write(3, elected(1, 1, ElectionCause.FIRST))
    journal.write(10, in_sync(1, 2, master=1, epoch=1, before=(1,)))
    journal.write(60.2, elected(2, 2, ElectionCause.CLOSED, before=1, before_in_sync=(1, 2), lost_s=60))
    journal.write(130, lost(3, 2, lost_s=118))
    journal.write(200, elected(2, 4, ElectionCause.BROKER, before_in_sync=(2,)))

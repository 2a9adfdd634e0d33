"""One event of every kind, and functions to build journals in memory."""

from typing import Final

from routebook.controller_events import (
    BrokerIdAssigned,
    BrokerSetState,
    Candidate,
    ControllerLeader,
    ElectionCause,
    MasterElected,
    NoMasterElected,
    ReplicaMoved,
    ReplicasCleaned,
    RoleNotified,
    SyncStateChanged,
)
from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerReturned,
    BrokerUp,
    DownReason,
    Event,
    HeartbeatMinute,
    JournalHole,
    KvChanged,
    LookupMinute,
    MappingsChanged,
    PeerAgreed,
    PeerDiverged,
    PermissionRestored,
    PermissionWiped,
    PreservationEnd,
    PreservationEntered,
    PreservationLeft,
    QueueChange,
    Queues,
    RequestDenied,
    ServerStarted,
    ServerStopped,
    SettingChanged,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.journal.chain import chain_after
from routebook.journal.record import RecordEncoder
from routebook.journal.write.audit import chain_at_end
from routebook.journal.write.backlog import Pending
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.rolling import roll_segment
from routebook.model import DataVersion, TopicQueueMappingInfo
from tests.support.faulty_files import FaultyFiles

_VERSION: Final = DataVersion(counter=3, state_version=0, timestamp=1_731_700_000_000)
_QUEUES: Final = Queues(perm=6, read=8, write=8, flag=0)
_FEWER: Final = Queues(perm=4, read=8, write=4, flag=0)
_MAPPING: Final = TopicQueueMappingInfo(
    bname="a", curr_id_map={0: 1}, dirty=False, epoch=1, scope="__global__", topic="T", total_queues=1
)

EVERY_KIND: Final[tuple[Event, ...]] = (
    ServerStarted(version="0.1", listen="127.0.0.1:9876", recovered=1),
    BrokerUp(
        cluster="C",
        broker="a",
        broker_id=0,
        addr="10.0.0.1:10911",
        ha_addr="10.0.0.1:10912",
        timeout_ms=120_000,
        acting_master=False,
        zone="z",
        data_version=_VERSION,
        filter_servers=("f",),
    ),
    BrokerChanged(
        cluster="C",
        broker="a",
        broker_id=0,
        before_id=1,
        addr="10.0.0.1:10911",
        timeout_ms=120_000,
        acting_master=True,
    ),
    BrokerReturned(cluster="C", broker="a", broker_id=0, addr="10.0.0.1:10911"),
    TopicsChanged(
        broker="a",
        cause=TopicCause.REGISTRATION,
        added={"T": _QUEUES},
        changed={"U": QueueChange(_QUEUES, _FEWER)},
        removed=("V",),
    ),
    MappingsChanged(broker="a", mappings={"T": _MAPPING}, removed=("W",)),
    HeartbeatMinute(
        cluster="C",
        broker="a",
        addr="10.0.0.1:10911",
        minute_ms=60_000,
        count=2,
        gaps_ms={30_719: 2},
        max_gap_ms=30_001,
    ),
    LookupMinute(
        minute_ms=60_000, topic="T", client="10.0.0.9", language="JAVA", version=513, count=4, misses=1, bytes=900
    ),
    LookupMinute(minute_ms=60_000, count=7, bytes=70, others=True),
    PermissionWiped(broker="a", topics=1, peer="10.0.0.8:5000", who="admin", code=205),
    PermissionRestored(broker="a", topics=1, peer="10.0.0.8:5000", code=327),
    TopicDeleted(topic="T", cluster="C", brokers=("a",), peer="10.0.0.8:5000", code=216),
    KvChanged(namespace="N", key="k", before="1", after="2", peer="10.0.0.8:5000", code=100),
    SettingChanged(key="s", before="1", after="2", peer="10.0.0.8:5000", code=318),
    RequestDenied(code=318, why="not over the wire", peer="10.0.0.8:5000"),
    PeerDiverged(peer="10.0.0.2:9876", since_ms=1, differences=2, topics=("T",), brokers=("a",)),
    PeerAgreed(peer="10.0.0.2:9876", diverged_ms=5_000),
    PreservationEntered(silent=6, known=10, window_ms=30_000, addrs=("10.0.0.1:10911",)),
    PreservationLeft(reason=PreservationEnd.RETURNED, lasted_ms=1_000, returned=5, silent=1),
    BrokerDown(cluster="C", broker="a", broker_id=0, addr="10.0.0.1:10911", reason=DownReason.EXPIRED),
    JournalHole(first_missing=5, last_missing=9, count=5, why="disk full"),
    ServerStopped(reason="SIGTERM"),
    MasterElected(
        cluster="C",
        broker="a",
        broker_id=2,
        addr="10.0.0.2:10911",
        cause=ElectionCause.CLOSED,
        before_id=1,
        before_addr="10.0.0.1:10911",
        master_epoch=2,
        sync_state_epoch=3,
        in_sync=(2,),
        before_in_sync=(1, 2),
        lost_at_ms=1_731_700_000_000,
        candidates=(Candidate(id=2, alive=True, epoch=1, max_offset=512),),
        unclean=True,
    ),
    NoMasterElected(
        cluster="C",
        broker="a",
        cause=ElectionCause.EXPIRED,
        before_id=2,
        before_addr="10.0.0.2:10911",
        master_epoch=3,
        sync_state_epoch=3,
        in_sync=(2,),
        before_in_sync=(2,),
        lost_at_ms=1_731_700_000_001,
        candidates=(Candidate(id=2, alive=False, epoch=1, max_offset=512, priority=1),),
    ),
    SyncStateChanged(
        cluster="C",
        broker="a",
        broker_id=1,
        master_epoch=1,
        sync_state_epoch=2,
        in_sync=(1, 2),
        before_in_sync=(1,),
        peer="10.0.0.1:5000",
        code=1001,
    ),
    BrokerIdAssigned(cluster="C", broker="a", broker_id=1, addr="10.0.0.1:10911", peer="10.0.0.1:5000", code=1013),
    ReplicaMoved(cluster="C", broker="a", broker_id=1, addr="10.0.0.3:10911", before_addr="10.0.0.1:10911"),
    ReplicasCleaned(
        cluster="C",
        broker="a",
        broker_ids=(1,),
        before_id=1,
        master_epoch=4,
        sync_state_epoch=4,
        in_sync=(2,),
        who="admin",
        peer="10.0.0.8:5000",
        code=1011,
    ),
    RoleNotified(broker="a", addr="10.0.0.2:10911", master_epoch=2, why="connection refused"),
    ControllerLeader(controller_group="g", node="n0", addr="10.0.0.1:9878", leads=True),
    BrokerSetState(
        cluster="C",
        broker="a",
        master_id=1,
        master_epoch=1,
        sync_state_epoch=1,
        in_sync=(1,),
        replicas={1: "10.0.0.1:10911"},
    ),
)

ENCODER: Final = RecordEncoder(ns="n", boot="b")


def pending(seq: int, *, at_ms: int | None = None, event: Event | None = None) -> Pending:
    """A record; its default time is its number times 1000."""
    at_ms = seq * 1000 if at_ms is None else at_ms
    return Pending(seq, at_ms, ENCODER.line(event or ServerStopped(reason=f"r{seq}"), seq=seq, at_ms=at_ms))


def linked(*records: Pending, after: bytes = b"") -> bytes:
    """The text of a segment with these records, after the text of the segment before it."""
    chain = chain_after(after)
    return chain.link(records[0].line) + b"".join(record.line for record in records[1:])


def write_segment(files: FaultyFiles, first: int, last: int, *, roll: bool = False) -> str:
    """Write a segment with these records; return its name."""
    log = OpenSegment(files, options=JournalOptions())
    log.chain = chain_at_end(files)
    log.commit([pending(seq) for seq in range(first, last + 1)], now_s=0)
    log.roll()
    (finished,) = log.finished
    return roll_segment(files, finished.name, finished.span) if roll else finished.name

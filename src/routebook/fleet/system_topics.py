"""The system topics that every 5.5.0 broker creates at start."""

from routebook.codes import PERM_INHERIT, PERM_READ, PERM_WRITE, SYNC_BROKER_MEMBER_PREFIX
from routebook.model import TopicConfig

_READ_WRITE = PERM_READ | PERM_WRITE
_INHERITED = _READ_WRITE | PERM_INHERIT


def system_topics(cluster: str, broker: str) -> list[TopicConfig]:
    """Java: TopicConfigManager.init with default settings."""
    return [
        _topic("SELF_TEST_TOPIC", 1),
        _topic("TBW102", 8, _INHERITED),
        _topic("BenchmarkTest", 1024),
        _topic(cluster, 16, _INHERITED),
        _topic(broker, 1, _INHERITED),
        _topic("OFFSET_MOVED_EVENT", 1),
        _topic("SCHEDULE_TOPIC_XXXX", 18),
        _topic(f"{cluster}_REPLY_TOPIC", 1),
        _topic(f"rmq_sys_REVIVE_LOG_{cluster}", 8),
        _topic(f"{SYNC_BROKER_MEMBER_PREFIX}{broker}", 1, PERM_INHERIT),
        _topic("RMQ_SYS_TRANS_HALF_TOPIC", 1),
        _topic("RMQ_SYS_TRANS_OP_HALF_TOPIC", 1),
        _topic("RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", 1),
        _topic("RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", 1),
        _topic("rmq_sys_wheel_timer", 1),
    ]


def _topic(name: str, queues: int, perm: int = _READ_WRITE) -> TopicConfig:
    return TopicConfig(topic_name=name, perm=perm, read_queue_nums=queues, write_queue_nums=queues)

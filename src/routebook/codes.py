"""Constants of the protocol: request and response codes, version ordinals, languages, permission bits."""

from enum import IntEnum
from typing import Final


class RequestCode(IntEnum):
    """Requests to a NameServer, and the one (905) that it sends to brokers. The names are Java's."""

    PUT_KV_CONFIG = 100
    GET_KV_CONFIG = 101
    DELETE_KV_CONFIG = 102
    REGISTER_BROKER = 103
    UNREGISTER_BROKER = 104
    GET_ROUTEINFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    WIPE_WRITE_PERM_OF_BROKER = 205
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
    DELETE_TOPIC_IN_NAMESRV = 216
    REGISTER_TOPIC_IN_NAMESRV = 217
    GET_KVLIST_BY_NAMESPACE = 219
    GET_TOPICS_BY_CLUSTER = 224
    GET_SYSTEM_TOPIC_LIST_FROM_NS = 304
    GET_UNIT_TOPIC_LIST = 311
    GET_HAS_UNIT_SUB_TOPIC_LIST = 312
    GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST = 313
    UPDATE_NAMESRV_CONFIG = 318
    GET_NAMESRV_CONFIG = 319
    QUERY_DATA_VERSION = 322
    ADD_WRITE_PERM_OF_BROKER = 327
    GET_BROKER_MEMBER_GROUP = 901
    BROKER_HEARTBEAT = 904
    NOTIFY_MIN_BROKER_ID_CHANGE = 905


# Requests of operators: on disk before they are acknowledged. 217 is not included: brokers send it for new topics.
ADMIN_WRITES: Final = frozenset(
    {
        RequestCode.PUT_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
    }
)


class ResponseCode(IntEnum):
    """Response codes of a NameServer."""

    SUCCESS = 0
    SYSTEM_ERROR = 1
    SYSTEM_BUSY = 2
    REQUEST_CODE_NOT_SUPPORTED = 3
    NO_PERMISSION = 16
    TOPIC_NOT_EXIST = 17
    QUERY_NOT_FOUND = 22
    GO_AWAY = 1500


FLAG_RESPONSE: Final = 1
FLAG_ONEWAY: Final = 2

# Java: MQVersion ordinals. 213 + (major-4)*200 + minor*20 + patch*2 from 4.0.0 on.
VERSION_3_0_11: Final = 37  # from here a registration body is a RegisterBrokerBody
VERSION_4_9_4: Final = 401  # from here a route is answered in the standard JSON profile
VERSION_5_0_0: Final = 413  # from here a compressed registration has a mapping section
VERSION_5_3_1: Final = 475  # later clients understand GO_AWAY
VERSION_5_5_0: Final = 513  # the version in all frames of this server

LANGUAGES: Final = (
    "JAVA",
    "CPP",
    "DOTNET",
    "PYTHON",
    "DELPHI",
    "ERLANG",
    "RUBY",
    "OTHER",
    "HTTP",
    "GO",
    "PHP",
    "OMS",
    "RUST",
    "NODE_JS",
)

PERM_PRIORITY: Final = 8
PERM_READ: Final = 4
PERM_WRITE: Final = 2
PERM_INHERIT: Final = 1

SYS_FLAG_UNIT: Final = 1
SYS_FLAG_UNIT_SUB: Final = 2

MASTER_ID: Final = 0
DEFAULT_HEARTBEAT_TIMEOUT_MS: Final = 120_000
ORDER_TOPIC_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
SYNC_BROKER_MEMBER_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"

AUTO_CREATE_TOPIC: Final = "TBW102"  # its route serves topics that do not exist yet
SYSTEM_TOPICS: Final = frozenset(
    {
        AUTO_CREATE_TOPIC,
        "BenchmarkTest",
        "CHECKPOINT_TOPIC",
        "DefaultHeartBeatSyncerTopic",
        "OFFSET_MOVED_EVENT",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    }
)
SYSTEM_TOPIC_PREFIXES: Final = ("rmq_sys_", "RMQ_SYS_")


def version_text(version: int) -> str:
    """The version as text, such as `5.5.0`. Java: MQVersion has two ordinals per release since 4.0, snapshot first."""
    release = version - 213 + (version + 1) % 2
    if release < 0:
        return f"before 4.0 ({version})"
    return f"{4 + release // 200}.{release % 200 // 20}.{release % 20 // 2}{'' if version % 2 else '-SNAPSHOT'}"

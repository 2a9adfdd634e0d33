"""Access classes: each request needs one, and each identity has some."""

from enum import StrEnum
from typing import Final

from routebook.codes import RequestCode


class Access(StrEnum):
    """From lowest to highest; `INCLUDED` lists what each includes."""

    ROUTE_READ = "route_read"  # topics and routes: requests of clients
    BROKER_CONTROL = "broker_control"  # registration and heartbeats: requests of brokers
    ADMIN_READ = "admin_read"  # settings, KV and audit: all information
    ADMIN_WRITE = "admin_write"  # changes by operators


INCLUDED: Final = {
    Access.ROUTE_READ: frozenset({Access.ROUTE_READ}),
    Access.BROKER_CONTROL: frozenset({Access.BROKER_CONTROL, Access.ROUTE_READ}),
    Access.ADMIN_READ: frozenset({Access.ADMIN_READ, Access.ROUTE_READ}),
    Access.ADMIN_WRITE: frozenset({Access.ADMIN_WRITE, Access.ADMIN_READ, Access.ROUTE_READ}),
}

_ROUTE_READ: Final = (Access.ROUTE_READ,)
_BROKER: Final = (Access.BROKER_CONTROL,)
_BROKER_OR_OPERATOR: Final = (Access.BROKER_CONTROL, Access.ADMIN_WRITE)
_ADMIN_READ: Final = (Access.ADMIN_READ,)
_ADMIN_WRITE: Final = (Access.ADMIN_WRITE,)

# One of these is sufficient. A code that is not listed is answered "not supported" to authenticated callers.
NEEDED: Final[dict[int, tuple[Access, ...]]] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _ROUTE_READ,
    RequestCode.GET_BROKER_CLUSTER_INFO: _ROUTE_READ,
    RequestCode.GET_BROKER_MEMBER_GROUP: _ROUTE_READ,
    RequestCode.REGISTER_BROKER: _BROKER,
    RequestCode.QUERY_DATA_VERSION: _BROKER,
    RequestCode.BROKER_HEARTBEAT: _BROKER,
    RequestCode.UNREGISTER_BROKER: _BROKER_OR_OPERATOR,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: _BROKER_OR_OPERATOR,
    RequestCode.GET_KV_CONFIG: _ADMIN_READ,
    RequestCode.GET_KVLIST_BY_NAMESPACE: _ADMIN_READ,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _ROUTE_READ,
    RequestCode.GET_TOPICS_BY_CLUSTER: _ROUTE_READ,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: _ROUTE_READ,
    RequestCode.GET_UNIT_TOPIC_LIST: _ROUTE_READ,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: _ROUTE_READ,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _ROUTE_READ,
    RequestCode.GET_NAMESRV_CONFIG: _ADMIN_READ,
    RequestCode.PUT_KV_CONFIG: _ADMIN_WRITE,
    RequestCode.DELETE_KV_CONFIG: _ADMIN_WRITE,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: _ADMIN_WRITE,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: _ADMIN_WRITE,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _ADMIN_WRITE,
    RequestCode.UPDATE_NAMESRV_CONFIG: _ADMIN_WRITE,
}

# Requests of brokers that keep routes correct: served even under overload.
BROKER_TRAFFIC: Final = frozenset(code for code, access in NEEDED.items() if Access.BROKER_CONTROL in access) | {
    RequestCode.GET_BROKER_MEMBER_GROUP
}  # sent by brokers only, to find their master


def expanded(classes: "list[Access] | tuple[Access, ...]") -> frozenset[Access]:
    """These classes and those that they include."""
    return frozenset().union(*(INCLUDED[access] for access in classes))

"""The route table: an index of its operations, each of which has its own module."""

from routebook.routes import (
    image,
    leases,
    permissions,
    recovery,
    registration,
    removal,
    replay,
    topics,
    views,
)
from routebook.routes.state import Tables


class RouteTable(Tables):
    """Pure state: changes return events and effects; time is passed as `now_ms`, a connection is an int."""

    __slots__ = ()

    # registration and removal of brokers
    register = registration.register
    unregister = removal.unregister
    connection_lost = removal.connection_lost
    expire = removal.expire

    # leases
    renew = leases.renew
    heartbeat = leases.heartbeat
    has_lease = leases.has_lease
    data_version = leases.data_version
    is_changed = leases.is_changed
    is_disconnected = leases.is_disconnected
    overdue = leases.overdue
    expired_leases = leases.expired_leases
    brokers_of = leases.brokers_of

    # single topics, permissions
    register_topic = topics.register_topic
    delete_topic = topics.delete_topic
    wipe_write = permissions.wipe_write
    restore_write = permissions.restore_write

    # queries
    route = views.route
    route_revision = views.route_revision
    route_changed = views.route_changed
    queues = views.queues
    group = views.group
    cluster_info = views.cluster_info
    member_group = views.member_group
    topics = views.topics
    topics_of_cluster = views.topics_of_cluster
    system_topics = views.system_topics
    unit_topics = views.unit_topics
    sizes = views.sizes

    # recovery
    apply = replay.apply
    restore = image.restore
    remove_orphans = recovery.remove_orphans
    begin_leases = recovery.begin_leases

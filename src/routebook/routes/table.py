"""The route table: who serves which topic. Here is its table of contents; each operation has a file of its own."""

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
    """Pure state. A change returns what happened and what to do about it; time is `now_ms`, a connection an int."""

    __slots__ = ()

    # brokers come and go
    register = registration.register
    unregister = removal.unregister
    connection_lost = removal.connection_lost
    expire = removal.expire

    # and stay
    renew = leases.renew
    heartbeat = leases.heartbeat
    has_lease = leases.has_lease
    data_version = leases.data_version
    is_changed = leases.is_changed
    is_awaited = leases.is_awaited
    silence = leases.silence
    run_out = leases.run_out
    brokers_of = leases.brokers_of

    # single topics, permissions
    register_topic = topics.register_topic
    delete_topic = topics.delete_topic
    wipe_write = permissions.wipe_write
    restore_write = permissions.restore_write

    # what is asked
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

    # and from before
    apply = replay.apply
    restore = image.restore
    mend = recovery.mend
    begin_leases = recovery.begin_leases

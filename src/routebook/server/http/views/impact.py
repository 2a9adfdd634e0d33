"""What clients lose with one broker group, from the route tables."""

from collections.abc import Collection

from routebook.doctor.maintenance import Impact, OwnTopics
from routebook.handlers import NameServer
from routebook.server.http.views.topic_names import slices


async def impact_of(ns: NameServer, broker: str, *, unstable: Collection[str] = ()) -> Impact:
    """Examine all topics, in slices. `unstable` are groups that may be down."""
    routes = ns.routes
    impact = Impact(broker, OwnTopics(brokers=routes.group_table, clusters=routes.cluster_table), unstable)
    async for entries in slices(list(routes.topic_table.items())):
        for topic, entry in entries:
            impact.add(topic, entry.queues)
    return impact

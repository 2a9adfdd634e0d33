"""Broker groups without write permission, from the route tables."""

from routebook.codes import PERM_WRITE
from routebook.handlers import NameServer
from routebook.server.http.views.topic_names import slices


async def read_only_groups(ns: NameServer) -> frozenset[str]:
    """The groups with topics of which none accepts writes, in slices. Writable groups are found in the first topics."""
    pending = {name for name, group in ns.routes.group_table.items() if group.topics}
    async for entries in slices(list(ns.routes.topic_table.values())):
        for entry in entries:
            queues = entry.queues
            pending -= {name for name in pending if name in queues and queues[name].perm & PERM_WRITE}
            if not pending:
                return frozenset()
    return frozenset(pending)

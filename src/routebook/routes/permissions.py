"""Write permission of a broker's topics, as operators switch it: 205 removes it, 327 restores it."""

from typing import Final

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.effects import Change
from routebook.events import PermissionRestored, PermissionWiped
from routebook.model import QueueData
from routebook.routes.state import Tables, shape_of

_MAX_CONVERTED: Final = 4096


def wipe_write(tables: Tables, broker: str) -> tuple[int, Change]:
    """Clear the write permission of all topics of a broker until its next new version; returns their number."""
    count, changed = set_permissions(tables, broker, keep=~PERM_WRITE, add=0)
    return count, tables.settle([PermissionWiped(broker=broker, topics=count)] if changed else [])


def restore_write(tables: Tables, broker: str) -> tuple[int, Change]:
    """Make all topics of a broker readable and writable; returns their number."""
    # Java: perm becomes exactly 6, so the inherit bit of TBW102 is lost (quirk B9)
    count, changed = set_permissions(tables, broker, keep=0, add=PERM_READ | PERM_WRITE)
    return count, tables.settle([PermissionRestored(broker=broker, topics=count)] if changed else [])


def set_permissions(tables: Tables, broker: str, *, keep: int, add: int) -> tuple[int, bool]:
    """perm := perm & keep | add for all topics of a broker; returns their number, and whether any changed."""
    group = tables.group_table.get(broker)
    if group is None:
        return 0, False
    # A broker may have 100,000 topics and a handful of shapes: each shape is converted once.
    converted: dict[int, QueueData] = {}  # by identity: one object per shape, alive while a topic has it
    count, changed, revision = 0, False, tables.revision + 1
    for entry in tables.topic_table.values():
        queue = entry.queues.get(broker)
        if queue is None:
            continue
        count += 1
        after = converted.get(id(queue))
        if after is None:
            perm = queue.perm & keep | add
            after = queue if perm == queue.perm else group.queue(shape_of(queue)._replace(perm=perm))
            if len(converted) < _MAX_CONVERTED:
                converted[id(queue)] = after
        if after is not queue:
            entry.queues[broker] = after
            entry.revision = revision
            changed = True
    if changed:
        group.revision = group.queues_revision = revision
    return count, changed

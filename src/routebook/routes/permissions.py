"""Write permission of a broker's topics, as operators switch it: 205 removes it, 327 restores it."""

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.effects import Change
from routebook.events import PermissionRestored, PermissionWiped
from routebook.routes.state import Tables, shape_of


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
    count, changed = 0, False
    for topic, entry in tables.topic_table.items():
        queue = entry.queues.get(broker)
        if queue is None:
            continue
        count += 1
        perm = queue.perm & keep | add
        if perm != queue.perm:
            tables.put_queue(topic, tables.group_table[broker].queue(shape_of(queue)._replace(perm=perm)))
            changed = True
    return count, changed

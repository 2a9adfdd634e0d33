"""Groups without a master: the acting master in routes, notices to the other members, and read-only queues."""

from routebook.codes import MASTER_ID, PERM_WRITE, SYNC_BROKER_MEMBER_PREFIX
from routebook.effects import NotifyMinBroker
from routebook.events import Queues, TopicCause, TopicsChanged
from routebook.model import QueueData
from routebook.routes.differences import QueueDifferences
from routebook.routes.state import BrokerGroup, Tables, shape_of


def route_addrs(group: BrokerGroup, topic: str, queue: QueueData) -> dict[int, str]:
    """The group's addresses as a route shows them with acting masters: the lowest id is listed as the master.

    Only if the topic is not writable there: a client that finds a master and a writable queue would send to a slave.
    """
    addrs = group.addrs
    if (
        MASTER_ID in addrs
        or not group.enable_acting_master
        or queue.perm & PERM_WRITE
        # brokers look this topic up for the true ids of their group
        or topic.startswith(SYNC_BROKER_MEMBER_PREFIX)
    ):
        return addrs
    acting_master = addrs.pop(group.min_id)
    return {MASTER_ID: acting_master, **addrs}


def is_masterless(group: BrokerGroup) -> bool:
    """Whether a slave has to act as master. Java: isNoMasterExists; an id below 0 counts as a master."""
    return group.min_id > MASTER_ID


def make_read_only(tables: Tables, group: BrokerGroup) -> list[TopicsChanged]:
    """Clear the write permission of all queues of a group without a master."""
    differences = QueueDifferences(tables, group.name)
    for topic, entry in tables.topic_table.items():
        queue = entry.queues.get(group.name)
        if queue is not None and queue.perm & PERM_WRITE:
            differences.put(topic, without_write(queue))
    return differences.events(TopicCause.ACTING_MASTER)


def without_write(queue: QueueData) -> Queues:
    """The same queues without write permission."""
    return shape_of(queue)._replace(perm=queue.perm & ~PERM_WRITE)


def arrival_notice(group: BrokerGroup, ha_addr: str | None) -> NotifyMinBroker:
    """Notifies the other members that one with a lower id joined."""
    min_id = group.min_id
    addrs = group.addrs
    recipients = tuple(addr for broker_id, addr in addrs.items() if broker_id != min_id or len(addrs) == 1)
    return NotifyMinBroker(recipients=recipients, min_broker_id=min_id, min_broker_addr=addrs[min_id], ha_addr=ha_addr)


def departure_notice(group: BrokerGroup, offline_addr: str) -> NotifyMinBroker:
    """Notifies the remaining members that the one with the lowest id left."""
    min_id = group.min_id
    addrs = group.addrs
    return NotifyMinBroker(
        recipients=tuple(addrs.values()),
        min_broker_id=min_id,
        min_broker_addr=addrs[min_id],
        offline_addr=offline_addr,
    )

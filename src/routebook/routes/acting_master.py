"""A group that lost its master: who stands in for it in routes, who is told, and that it is read only."""

from routebook.codes import MASTER_ID, PERM_WRITE, SYNC_BROKER_MEMBER_PREFIX
from routebook.effects import NotifyMinBroker
from routebook.events import Queues, TopicCause, TopicsChanged
from routebook.model import QueueData
from routebook.routes.differences import QueueDifferences
from routebook.routes.state import BrokerGroup, Tables, shape_of


def route_addrs(group: BrokerGroup, topic: str, queue: QueueData) -> dict[int, str]:
    """The group's addresses as a route shows them where acting masters are supported: the least id poses as master.

    Only while the topic is not writable there: a client that finds a master and a writable queue would send to a slave.
    """
    addrs = group.addrs
    if (
        MASTER_ID in addrs
        or not group.enable_acting_master
        or queue.perm & PERM_WRITE
        # brokers ask for this topic to learn their group's true ids
        or topic.startswith(SYNC_BROKER_MEMBER_PREFIX)
    ):
        return addrs
    stand_in = addrs.pop(group.least_id)
    return {MASTER_ID: stand_in, **addrs}


def is_masterless(group: BrokerGroup) -> bool:
    """Whether a slave would have to act. Java: isNoMasterExists; an id below 0 counts as a master there too."""
    return group.least_id > MASTER_ID


def make_read_only(tables: Tables, group: BrokerGroup) -> list[TopicsChanged]:
    """Clear the write bit of all queues of a group whose master is gone."""
    differences = QueueDifferences(tables, group.name)
    for topic, entry in tables.topic_table.items():
        queue = entry.queues.get(group.name)
        if queue is not None and queue.perm & PERM_WRITE:
            differences.put(topic, without_write(queue))
    return differences.events(TopicCause.ACTING_MASTER)


def without_write(queue: QueueData) -> Queues:
    """The same queues, not writable."""
    return shape_of(queue)._replace(perm=queue.perm & ~PERM_WRITE)


def arrival_notice(group: BrokerGroup, ha_addr: str | None) -> NotifyMinBroker:
    """A member came with a lesser id than the others: they are told, it is not."""
    least = group.least_id
    addrs = group.addrs
    recipients = tuple(addr for broker_id, addr in addrs.items() if broker_id != least or len(addrs) == 1)
    return NotifyMinBroker(recipients=recipients, min_broker_id=least, min_broker_addr=addrs[least], ha_addr=ha_addr)


def departure_notice(group: BrokerGroup, offline_addr: str) -> NotifyMinBroker:
    """The member with the least id left: all that remain are told."""
    least = group.least_id
    addrs = group.addrs
    return NotifyMinBroker(
        recipients=tuple(addrs.values()),
        min_broker_id=least,
        min_broker_addr=addrs[least],
        offline_addr=offline_addr,
    )

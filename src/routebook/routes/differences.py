"""What happened to the queues of one broker during one change, gathered for one event."""

from routebook.events import QueueChange, TopicCause, TopicsChanged
from routebook.model import QueueData
from routebook.routes.state import Tables


class QueueDifferences:
    """Changes the tables and remembers; a topic that is set twice counts once, with its first before and last after."""

    __slots__ = ("_broker", "_tables", "added", "changed", "removed")

    def __init__(self, tables: Tables, broker: str) -> None:
        self._tables = tables
        self._broker = broker
        self.added: dict[str, QueueData] = {}
        self.changed: dict[str, QueueChange] = {}
        self.removed: list[str] = []

    def put(self, topic: str, queue: QueueData) -> None:
        """Set the topic's queues on this broker, unless they are so already."""
        entry = self._tables.topic_table.get(topic)
        before = None if entry is None else entry.queues.get(self._broker)
        if before == queue:
            return
        self._tables.put_queue(topic, queue)
        if before is None or topic in self.added:
            self.added[topic] = queue
        else:
            first = self.changed[topic].before if topic in self.changed else before
            self.changed[topic] = QueueChange(first, queue)

    def drop(self, topic: str) -> None:
        """Remove the topic's queues on this broker."""
        self._tables.drop_queue(topic, self._broker)
        self.removed.append(topic)

    def events(self, cause: TopicCause) -> list[TopicsChanged]:
        """One event, or none if nothing changed."""
        changed = {topic: change for topic, change in self.changed.items() if change.before != change.after}
        if not (self.added or changed or self.removed):
            return []
        return [
            TopicsChanged(
                broker=self._broker, cause=cause, added=self.added, changed=changed, removed=tuple(self.removed)
            )
        ]

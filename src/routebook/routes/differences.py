"""Changes the queues of one broker and collects the differences into one event."""

from collections.abc import Iterable

from routebook.events import QueueChange, Queues, TopicCause, TopicsChanged
from routebook.model import QueueData, TopicConfig
from routebook.routes.state import Shape, Tables, TopicEntry, shape_of


class QueueDifferences:
    """Modifies the tables and records each difference. Put or drop each topic at most once."""

    __slots__ = ("_broker", "_queue", "_queues_by_shape", "_tables", "added", "changed", "removed")

    def __init__(self, tables: Tables, broker: str) -> None:
        self._tables = tables
        self._broker = broker
        self._queue = tables.group_table[broker].queue
        self._queues_by_shape: dict[Shape, Queues] = {}
        self.added: dict[str, Queues] = {}
        self.changed: dict[str, QueueChange] = {}
        self.removed: list[str] = []

    def put_all(self, configs: Iterable[TopicConfig], *, perm_mask: int) -> None:
        """Set the queues that a broker announces, with their permissions reduced to `perm_mask`.

        There may be tens of thousands, most of them unchanged: these cost no function call.
        """
        shapes: dict[Shape, tuple[QueueData, Queues]] = {}
        tables, broker, added, changed = self._tables, self._broker, self.added, self.changed
        topic_table, group = tables.topic_table, tables.group_table[broker]
        name, revision, count = group.name, tables.revision + 1, 0
        entry_of = topic_table.get
        last: Shape | None = None
        last_before: QueueData | None = None
        last_queue: QueueData | None = None
        is_changed = False
        for config in configs:
            topic = config.topic_name
            sent = (config.perm, config.read_queue_nums, config.write_queue_nums, config.topic_sys_flag)
            if sent != last:  # usually the same for all
                last, shape = sent, (config.perm & perm_mask, *sent[1:])
                found = shapes.get(shape)
                if found is None:
                    found = shapes[shape] = self._queue(shape), self._queues(shape)
                queue, queues = found
            entry = entry_of(topic)
            before = None if entry is None else entry.queues.get(broker)
            if before is queue:
                continue
            if before is None:  # the same as `Tables.put_queue`, inlined
                if entry is None:
                    entry = topic_table[topic] = TopicEntry()
                entry.queues[name] = queue
                entry.revision = revision
                added[topic] = queues
                count += 1
            elif before != queue:
                if before is not last_before or queue is not last_queue:  # usually the same for all
                    last_before, last_queue = before, queue
                    change = QueueChange(shape_of(before), queues)
                entry.queues[name] = queue  # type: ignore[union-attr]  # `before` is one of its queues
                entry.revision = revision  # type: ignore[union-attr]
                changed[topic] = change
                is_changed = True
        if count or is_changed:
            group.topics += count
            group.revision = group.queues_revision = revision

    def put(self, topic: str, shape: Shape) -> None:
        """Set the topic's queues on this broker, if they differ."""
        queue = self._queue(shape)
        entry = self._tables.topic_table.get(topic)
        before = None if entry is None else entry.queues.get(self._broker)
        if before != queue:
            self._set(topic, shape, queue, before)

    def _set(self, topic: str, shape: Shape, queue: QueueData, before: QueueData | None) -> None:
        self._tables.put_queue(topic, queue)
        if before is None:
            self.added[topic] = self._queues(shape)
        else:
            self.changed[topic] = QueueChange(shape_of(before), Queues(*shape))

    def _queues(self, shape: Shape) -> Queues:
        """One object for all topics of a shape."""
        known = self._queues_by_shape
        return known.get(shape) or known.setdefault(shape, Queues(*shape))

    def drop(self, topic: str) -> None:
        """Remove the topic's queues on this broker."""
        self._tables.drop_queue(topic, self._broker)
        self.removed.append(topic)

    def events(self, cause: TopicCause) -> list[TopicsChanged]:
        """One event, or none if nothing changed."""
        if not (self.added or self.changed or self.removed):
            return []
        return [
            TopicsChanged(
                broker=self._broker, cause=cause, added=self.added, changed=self.changed, removed=tuple(self.removed)
            )
        ]

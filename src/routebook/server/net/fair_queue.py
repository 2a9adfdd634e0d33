"""A queue in which hosts take turns, however much each of them has queued."""

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """First in, first out per host."""

    __slots__ = ("_by_host", "_count")

    def __init__(self) -> None:
        self._by_host: dict[str, deque[T]] = {}  # the first host is next
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, host: str, item: T) -> None:
        queue = self._by_host.get(host)
        if queue is None:
            queue = self._by_host[host] = deque()
        queue.append(item)
        self._count += 1

    def pop(self) -> T:
        """The next item; its host goes to the end. The queue must not be empty."""
        host, queue = next(iter(self._by_host.items()))
        item = queue.popleft()
        self._count -= 1
        del self._by_host[host]
        if queue:
            self._by_host[host] = queue
        return item

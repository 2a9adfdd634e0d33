"""A dict with a limit on its entries, for caches whose keys are chosen by peers."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """Call `has_room` before each insertion.

    A full cache rejects new entries. After as many rejections as it has entries it starts over empty, so that
    keys in current use replace keys that are no longer in use. A hit costs no bookkeeping.
    """

    __slots__ = ("_max_entries", "_rejected")

    def __init__(self, *, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries
        self._rejected = 0

    def has_room(self) -> bool:
        """Whether one entry may be added; clears the cache when it is due."""
        if len(self) < self._max_entries:
            return True
        self._rejected += 1
        if self._rejected < self._max_entries:
            return False
        self._rejected = 0
        self.clear()
        return True

"""Cache of encoded routes with a limit on its memory.

Two generations: a hit in the young one costs one dict look-up. When the young generation reaches half of the budget it
becomes part of the old one. Entries that are used again move back; the others are evicted, oldest first.
"""

from collections import OrderedDict
from typing import TypeAlias

import msgspec

RouteKey: TypeAlias = tuple[str, bool]  # topic, and whether the body is in the standard JSON profile


class Entry(msgspec.Struct, gc=False):
    """An encoded route, and the revisions at which it was last known to be fresh."""

    body: bytes
    revision: int  # of the whole NameServer
    base_revision: int  # of KV and settings alone, which affect every route


class RouteCache:
    """Encoded routes by topic and JSON profile."""

    __slots__ = ("_max_bytes", "_old", "_old_bytes", "_young", "_young_bytes", "encoded")

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._young: dict[RouteKey, Entry] = {}
        self._young_bytes = 0
        self._old: OrderedDict[RouteKey, Entry] = OrderedDict()
        self._old_bytes = 0
        self.encoded = 0  # number of routes encoded so far: the cache misses

    def fresh(self, key: RouteKey, revision: int) -> bytes | None:
        """The body if nothing in the NameServer changed since it was last known to be fresh: cheap, and the usual case.

        None does not mean stale: `get` finds the entry, whose route may still be unchanged.
        """
        entry = self._young.get(key)
        return entry.body if entry is not None and entry.revision == revision else None

    def get(self, key: RouteKey) -> Entry | None:
        """The entry, fresh or stale; moves it to the young generation."""
        entry = self._young.get(key)
        if entry is None and (entry := self._old.pop(key, None)) is not None:
            self._old_bytes -= _cost(key, entry)
            self._add(key, entry)
        return entry

    def put(self, key: RouteKey, body: bytes, *, revision: int, base_revision: int) -> None:
        """Store a body that was just encoded."""
        self.encoded += 1
        stale = self._young.pop(key, None)
        if stale is not None:
            self._young_bytes -= _cost(key, stale)
        self._add(key, Entry(body, revision, base_revision))

    def _add(self, key: RouteKey, entry: Entry) -> None:
        cost = _cost(key, entry)
        if cost > self._max_bytes // 2:
            return
        if self._young_bytes + cost > self._max_bytes // 2:
            self._old.update(self._young)
            self._old_bytes += self._young_bytes
            self._young, self._young_bytes = {}, 0
        while self.bytes_held + cost > self._max_bytes:
            self._old_bytes -= _cost(*self._old.popitem(last=False))
        self._young[key] = entry
        self._young_bytes += cost

    @property
    def bytes_held(self) -> int:
        """Memory of the cache: bodies and an estimate of the overhead per entry."""
        return self._young_bytes + self._old_bytes


def _cost(key: RouteKey, entry: Entry) -> int:
    return len(entry.body) + len(key[0]) + 300

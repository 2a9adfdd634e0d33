"""Cache of encoded routes with a limit on its memory.

Eviction is first in, first out with a second chance: an entry that was used since its last turn goes to the end of the
queue instead. A hit sets a flag and moves nothing, however large the routes are.
"""

from collections import OrderedDict
from typing import Final, TypeAlias

import msgspec

RouteKey: TypeAlias = tuple[str, bool]  # topic, and whether the body is in the standard JSON profile
_MAX_CHANCES: Final = 64  # entries that one insertion keeps: bounds its time


class Entry(msgspec.Struct, gc=False):
    """An encoded route, and the revisions at which it was last known to be fresh.

    The fast path keeps references to entries. One that leaves the cache is emptied and never fresh again.
    """

    body: bytes
    revision: int  # of the whole NameServer
    base_revision: int  # of KV and settings alone, which affect every route
    used: bool = False


class RouteCache:
    """Encoded routes by topic and JSON profile."""

    __slots__ = ("_entries", "_max_bytes", "bytes_held", "encoded")

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[RouteKey, Entry] = OrderedDict()
        self.bytes_held = 0  # bodies and an estimate of the overhead per entry
        self.encoded = 0  # number of routes encoded so far: the cache misses

    def fresh(self, key: RouteKey, revision: int) -> bytes | None:
        """The body if nothing in the NameServer changed since it was last known to be fresh: cheap, and the usual case.

        None does not mean stale: `get` finds the entry, whose route may still be unchanged.
        """
        entry = self._entries.get(key)
        if entry is None or entry.revision != revision:
            return None
        entry.used = True
        return entry.body

    def get(self, key: RouteKey) -> Entry | None:
        """The entry, fresh or stale."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.used = True
        return entry

    def put(self, key: RouteKey, body: bytes, *, revision: int, base_revision: int) -> None:
        """Store a body that was just encoded."""
        self.encoded += 1
        stale = self._entries.pop(key, None)
        if stale is not None:
            self._drop(key, stale)
        entry = Entry(body, revision, base_revision)
        cost = _cost(key, entry)
        if cost <= self._max_bytes // 2:
            self._make_room(cost)
            self._entries[key] = entry
            self.bytes_held += cost

    def _make_room(self, cost: int) -> None:
        chances = _MAX_CHANCES
        while self.bytes_held + cost > self._max_bytes:
            key, entry = self._entries.popitem(last=False)
            if entry.used and chances:
                chances -= 1
                entry.used = False
                self._entries[key] = entry
            else:
                self._drop(key, entry)

    def _drop(self, key: RouteKey, entry: Entry) -> None:
        self.bytes_held -= _cost(key, entry)
        entry.body, entry.revision = b"", -1


def _cost(key: RouteKey, entry: Entry) -> int:
    return len(entry.body) + len(key[0]) + 300

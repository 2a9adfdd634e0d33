"""Encoded routes: each is made once per change and kept in bounded memory.

Two generations: hits in the young one cost one dict look-up; when it has grown to half the budget it becomes the old
one, and what is still asked for moves back. Java has no bound here, and at 300 brokers × 10,000 topics none fits.
"""

import msgspec


class _Entry(msgspec.Struct, gc=False):
    body: bytes
    stamp: int  # the state of all tables when this was last known to be fresh
    revision: int  # the route's own, when it was encoded
    base: int  # that of the KV and the settings, which shape every route


class RouteCache:
    """Bodies by topic and profile. `stamp` grows with every change of anything, `base` with KV and settings alone."""

    __slots__ = ("_budget", "_old", "_old_size", "_size", "_young", "encoded")

    def __init__(self, *, max_bytes: int) -> None:
        self._budget = max_bytes // 2
        self._size = 0
        self._old_size = 0
        self._young: dict[tuple[str, bool], _Entry] = {}
        self._old: dict[tuple[str, bool], _Entry] = {}
        self.encoded = 0  # how often a route had to be encoded

    def hit(self, topic: str, standard: bool, stamp: int) -> bytes | None:
        """The body, if nothing at all has changed since it was last found fresh."""
        entry = self._young.get((topic, standard))
        return entry.body if entry is not None and entry.stamp == stamp else None

    def recheck(self, topic: str, *, standard: bool, stamp: int, base: int, revision: int) -> bytes | None:
        """The body, if what changed since was not this route."""
        key = (topic, standard)
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.pop(key, None)
            if entry is None:
                return None
            self._old_size -= _cost(key, entry)
            self._keep(key, entry)
        if entry.base != base or entry.revision != revision:
            return None
        entry.stamp = stamp
        return entry.body

    def put(self, topic: str, body: bytes, *, standard: bool, stamp: int, base: int, revision: int) -> None:
        """Keep a body that was just encoded."""
        self.encoded += 1
        key = (topic, standard)
        stale = self._young.pop(key, None)
        if stale is not None:
            self._size -= _cost(key, stale)
        self._keep(key, _Entry(body, stamp, revision, base))

    def _keep(self, key: tuple[str, bool], entry: _Entry) -> None:
        cost = _cost(key, entry)
        if cost > self._budget:
            return
        if self._size + cost > self._budget:
            self._old, self._old_size = self._young, self._size
            self._young, self._size = {}, 0
        self._young[key] = entry
        self._size += cost

    @property
    def bytes_held(self) -> int:
        """What the cache takes, bodies and bookkeeping."""
        return self._size + self._old_size


def _cost(key: tuple[str, bool], entry: _Entry) -> int:
    return len(entry.body) + len(key[0]) + 300

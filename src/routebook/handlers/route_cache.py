"""Encoded routes: each is made once per change and kept in bounded memory.

Two generations: hits in the young one cost one dict look-up. When it has grown to half of the budget it joins the old
one; what is still asked for moves back, and what is not makes room, first come, first gone. So whatever fits stays.
"""

from collections import OrderedDict

import msgspec


class Entry(msgspec.Struct, gc=False):
    """A route, encoded."""

    body: bytes
    stamp: int  # the state of all tables when this was last known to be fresh
    base: int  # the part of it that is the KV's and the settings', which shape every route


class RouteCache:
    """Bodies by topic and profile. `stamp` grows with every change of anything, `base` with KV and settings alone."""

    __slots__ = ("_budget", "_old", "_old_size", "_size", "encoded", "young")

    def __init__(self, *, max_bytes: int) -> None:
        self._budget = max_bytes
        self._size = 0
        self._old_size = 0
        self.young: dict[tuple[str, bool], Entry] = {}  # to be looked at: a call would cost as much as the look
        self._old: OrderedDict[tuple[str, bool], Entry] = OrderedDict()
        self.encoded = 0  # how often a route had to be encoded

    def get(self, topic: str, *, standard: bool) -> Entry | None:
        """What is kept, fresh or not; it is among the young from now on."""
        key = (topic, standard)
        entry = self.young.get(key)
        if entry is None and (entry := self._old.pop(key, None)) is not None:
            self._old_size -= _cost(key, entry)
            self._keep(key, entry)
        return entry

    def put(self, topic: str, body: bytes, *, standard: bool, stamp: int, base: int) -> None:
        """Keep a body that was just encoded."""
        self.encoded += 1
        key = (topic, standard)
        stale = self.young.pop(key, None)
        if stale is not None:
            self._size -= _cost(key, stale)
        self._keep(key, Entry(body, stamp, base))

    def _keep(self, key: tuple[str, bool], entry: Entry) -> None:
        cost = _cost(key, entry)
        if cost > self._budget // 2:
            return
        if self._size + cost > self._budget // 2:
            self._old.update(self.young)
            self._old_size += self._size
            self.young, self._size = {}, 0
        while self._size + self._old_size + cost > self._budget:
            self._old_size -= _cost(*self._old.popitem(last=False))
        self.young[key] = entry
        self._size += cost

    @property
    def bytes_held(self) -> int:
        """What the cache takes, bodies and bookkeeping."""
        return self._size + self._old_size


def _cost(key: tuple[str, bool], entry: Entry) -> int:
    return len(entry.body) + len(key[0]) + 300

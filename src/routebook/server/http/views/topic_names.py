"""Topic names in order, for lists that are paged and searched: 50,000 of them without holding anybody up."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from routebook.routes import RouteTable

_AT_A_TIME: Final = 4096  # names that are looked at before others get their turn


class Page(NamedTuple):
    """Some names, and whether more follow."""

    names: list[str]
    more: bool


class TopicNames:
    """The names of one route table, sorted; sorted anew only when some came or went."""

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes
        self._names: list[str] = []
        self._revision = -1

    def sorted(self) -> list[str]:
        """All names. Not to be changed by the caller."""
        if self._revision != self._routes.revision:
            self._revision = self._routes.revision
            current = self._routes.topic_table
            kept = [name for name in self._names if name in current]
            if not len(kept) == len(self._names) == len(current):
                known = set(kept)
                kept += [name for name in current if name not in known]
                kept.sort()  # mostly in order already, which is quick
                self._names = kept
        return self._names

    async def page(self, *, after: str, limit: int, wanted: Callable[[str], bool] | None) -> Page:
        """The next `limit` names after `after` that are wanted."""
        names = self.sorted()
        begin = bisect_right(names, after) if after else 0
        if wanted is None:
            return Page(names[begin : begin + limit], len(names) > begin + limit)
        found: list[str] = []
        for start in range(begin, len(names), _AT_A_TIME):
            found += [name for name in names[start : start + _AT_A_TIME] if wanted(name)]
            if len(found) > limit:
                break
            await asyncio.sleep(0)
        return Page(found[:limit], len(found) > limit)

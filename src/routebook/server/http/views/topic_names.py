"""Sorted topic names for paged lists; scans of 50,000 names do not block the event loop."""

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from routebook.routes import RouteTable
from routebook.server.http.views.slices import slices


class Page(NamedTuple):
    """Some names, and whether more follow."""

    names: list[str]
    more: bool


class TopicNames:
    """The sorted names of one route table, sorted again only after topics were added or removed."""

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes
        self._names: list[str] = []
        self._revision = -1

    def sorted(self) -> list[str]:
        """All names; the caller must not change the list."""
        if self._revision != self._routes.revision:
            self._revision = self._routes.revision
            current = self._routes.topic_table
            kept = [name for name in self._names if name in current]
            if not len(kept) == len(self._names) == len(current):
                known = set(kept)
                kept += [name for name in current if name not in known]
                kept.sort()  # fast: mostly sorted
                self._names = kept
        return self._names

    async def page(self, *, after: str, limit: int, matches: Callable[[str], bool] | None) -> Page:
        """Up to `limit` matching names that follow `after`."""
        names = self.sorted()
        begin = bisect_right(names, after) if after else 0
        if matches is None:
            return Page(names[begin : begin + limit], len(names) > begin + limit)
        found: list[str] = []
        async for part in slices(names, start=begin):
            found += [name for name in part if matches(name)]
            if len(found) > limit:
                break
        return Page(found[:limit], len(found) > limit)

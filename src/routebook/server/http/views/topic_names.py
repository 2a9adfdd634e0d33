"""Topic names for paged lists and substring search; scans of 50,000 names do not block the event loop."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from routebook.routes import RouteTable

_SEPARATOR: Final = "\n"  # replaced in names
_YIELD_EVERY: Final = 2048  # matches between two yields to the event loop
T = TypeVar("T")

_SLICE: Final = 4096


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


class Matches(NamedTuple):
    """The best matches, and the number of all matches."""

    names: list[str]
    total: int


class TopicSearch:
    """Builds the string again only after topics were added or removed."""

    def __init__(self, names: TopicNames) -> None:
        self._source = names
        self._names: list[str] = []
        self._text = ""
        self._starts: list[int] = []

    async def find(self, part: str, limit: int) -> Matches:
        """Names that contain `part`, ignoring case: exact matches first, then suffixes, prefixes and the others."""
        self._refresh()
        names, text, starts, wanted = self._names, self._text, self._starts, part.lower()
        if not wanted or _SEPARATOR in wanted:
            return Matches([] if wanted else names[:limit], 0 if wanted else len(names))
        exact: list[str] = []
        suffix: list[str] = []
        prefix: list[str] = []
        inner: list[str] = []
        total, at = 0, text.find(wanted)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            start, end = starts[number], starts[number + 1]
            is_exact = at == start and end - start - 1 == len(wanted)
            is_suffix = text.startswith(wanted, end - 1 - len(wanted), end - 1)
            kept = exact if is_exact else suffix if is_suffix else prefix if at == start else inner
            if len(kept) < limit:
                kept.append(names[number])
            total += 1
            if total % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            at = text.find(wanted, end)
        return Matches([*exact, *suffix, *prefix, *inner][:limit], total)

    def _refresh(self) -> None:
        names = self._source.sorted()
        if names is self._names:
            return
        lowered = [name.lower().replace(_SEPARATOR, " ") for name in names]
        starts = [0]
        for name in lowered:
            starts.append(starts[-1] + len(name) + 1)
        self._names, self._text, self._starts = names, _SEPARATOR.join(lowered), starts


async def slices(items: Sequence[T], *, start: int = 0, size: int = _SLICE) -> AsyncGenerator[Sequence[T], None]:
    """Yield consecutive slices of `items`; the event loop runs after each."""
    for begin in range(start, len(items), size):
        yield items[begin : begin + size]
        await asyncio.sleep(0)

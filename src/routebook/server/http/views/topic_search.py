"""Substring search over topic names: all names are joined in one string, so a search is one scan in C."""

import asyncio
from bisect import bisect_right
from typing import Final, NamedTuple

from routebook.server.http.views.topic_names import TopicNames

_SEPARATOR: Final = "\n"  # replaced in names
_YIELD_EVERY: Final = 2048  # matches between two yields to the event loop


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
        """Names that contain `part`, ignoring case: exact matches first, then prefixes, then the others."""
        self._refresh()
        names, text, starts, wanted = self._names, self._text, self._starts, part.lower()
        if not wanted or _SEPARATOR in wanted:
            return Matches([] if wanted else names[:limit], 0 if wanted else len(names))
        exact: list[str] = []
        prefix: list[str] = []
        inner: list[str] = []
        total, at = 0, text.find(wanted)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            start, end = starts[number], starts[number + 1]
            is_exact = at == start and end - start - 1 == len(wanted)
            kept = exact if is_exact else prefix if at == start else inner
            if len(kept) < limit:
                kept.append(names[number])
            total += 1
            if total % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            at = text.find(wanted, end)
        return Matches([*exact, *prefix, *inner][:limit], total)

    def _refresh(self) -> None:
        names = self._source.sorted()
        if names is self._names:
            return
        lowered = [name.lower().replace(_SEPARATOR, " ") for name in names]
        starts = [0]
        for name in lowered:
            starts.append(starts[-1] + len(name) + 1)
        self._names, self._text, self._starts = names, _SEPARATOR.join(lowered), starts

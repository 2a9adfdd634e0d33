"""Search as one types: 50,000 topic names in one string, so that a look for a few letters is one scan in C."""

import asyncio
from bisect import bisect_right
from typing import Final, NamedTuple

from routebook.server.http.views.topic_names import TopicNames

_PARTED: Final = "\n"  # no name holds one
_AT_A_TIME: Final = 2048  # matches between which others get their turn


class Matches(NamedTuple):
    """The best of the names, and how many there are."""

    names: list[str]
    total: int


class TopicSearch:
    """Made anew only when names came or went."""

    def __init__(self, names: TopicNames) -> None:
        self._source = names
        self._names: list[str] = []
        self._text = ""
        self._starts: list[int] = []

    async def find(self, part: str, limit: int) -> Matches:
        """Names that contain `part` in any case: the name itself, those that begin with it, then the others."""
        self._refresh()
        names, text, starts, wanted = self._names, self._text, self._starts, part.lower()
        if not wanted or _PARTED in wanted:
            return Matches([] if wanted else names[:limit], 0 if wanted else len(names))
        same: list[str] = []
        begin: list[str] = []
        within: list[str] = []
        total, at = 0, text.find(wanted)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            start, end = starts[number], starts[number + 1]
            is_same = at == start and end - start - 1 == len(wanted)
            kept = same if is_same else begin if at == start else within
            if len(kept) < limit:
                kept.append(names[number])
            total += 1
            if total % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            at = text.find(wanted, end)
        return Matches([*same, *begin, *within][:limit], total)

    def _refresh(self) -> None:
        names = self._source.sorted()
        if names is self._names:
            return
        lowered = [name.lower().replace(_PARTED, " ") for name in names]
        starts = [0]
        for name in lowered:
            starts.append(starts[-1] + len(name) + 1)
        self._names, self._text, self._starts = names, _PARTED.join(lowered), starts

"""Denied requests as events: each kind at once, more of the same by count, so that a flood cannot fill the journal.

Within a minute the first denial of its kind (address, code, why, who) is recorded as it comes. When the minute ends,
those that came again are recorded once more with their number, and all beyond the bound on kinds in one row.
So the counts of all rows together are exactly the denials.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from routebook.events import RequestDenied
from routebook.server.state.recorder import Recorder

EVERY_S: Final = 60.0
_MOST_KINDS: Final = 100
_OTHERS: Final = "more denials than are told one by one"


class _Kind(NamedTuple):
    host: str
    code: int
    why: str
    who: str | None


class Denials:
    """`denied` for each; `flush` once a minute and at the end."""

    def __init__(self, recorder: Recorder, wall_ms: Callable[[], int]) -> None:
        self._recorder = recorder
        self._wall_ms = wall_ms
        self._again: dict[_Kind, tuple[str, int]] = {}  # the peer that came last, and how often after the first
        self._others = 0
        self.total = 0

    def denied(self, *, code: int, why: str, peer: str, who: str | None = None) -> None:
        self.total += 1
        kind = _Kind(peer.rpartition(":")[0], code, why, who)
        seen = self._again.get(kind)
        if seen is not None:
            self._again[kind] = (peer, seen[1] + 1)
        elif len(self._again) < _MOST_KINDS:
            self._again[kind] = (peer, 0)
            self._record(kind, peer, 1)
        else:
            self._others += 1

    def flush(self) -> None:
        """The minute is over."""
        again, others = self._again, self._others
        self._again, self._others = {}, 0
        for kind, (peer, count) in again.items():
            if count:
                self._record(kind, peer, count)
        if others:
            self._recorder.record([RequestDenied(code=0, why=_OTHERS, count=others)], at_ms=self._wall_ms())

    def _record(self, kind: _Kind, peer: str, count: int) -> None:
        event = RequestDenied(code=kind.code, why=kind.why, count=count)
        self._recorder.record([event], at_ms=self._wall_ms(), peer=peer, code=kind.code, who=kind.who)

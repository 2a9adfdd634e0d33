"""Records denied requests as events, with a limit so that a flood of them cannot fill the journal.

The first denial of a kind (host, code, reason, identity) in a minute is recorded at once. At the end of the minute one
more record per kind has the number of repetitions, and one record has the number of denials beyond the limit on kinds.
The counts of all records add up to the number of denials.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from routebook.events import RequestDenied
from routebook.server.state.recorder import Recorder

FLUSH_INTERVAL_S: Final = 60.0
_MAX_KINDS: Final = 100
_OTHERS: Final = "denials beyond the limit on separate records"


class _Kind(NamedTuple):
    host: str
    code: int
    why: str
    who: str | None


class Denials:
    """Call `denied` for each denial, and `flush` once a minute and at shutdown."""

    def __init__(self, recorder: Recorder, wall_ms: Callable[[], int]) -> None:
        self._recorder = recorder
        self._wall_ms = wall_ms
        self._repeated: dict[_Kind, tuple[str, int]] = {}  # the last peer, and the number of repetitions
        self._others = 0
        self.total = 0

    def denied(self, *, code: int, why: str, peer: str, who: str | None = None) -> None:
        """Record a denial, or count it for the next flush."""
        self.total += 1
        kind = _Kind(peer.rpartition(":")[0], code, why, who)
        seen = self._repeated.get(kind)
        if seen is not None:
            self._repeated[kind] = (peer, seen[1] + 1)
        elif len(self._repeated) < _MAX_KINDS:
            self._repeated[kind] = (peer, 0)
            self._record(kind, peer, 1)
        else:
            self._others += 1

    def flush(self) -> None:
        """Record the repetitions and start the next minute."""
        repeated, others = self._repeated, self._others
        self._repeated, self._others = {}, 0
        for kind, (peer, count) in repeated.items():
            if count:
                self._record(kind, peer, count)
        if others:
            self._recorder.record([RequestDenied(code=0, why=_OTHERS, count=others)], at_ms=self._wall_ms())

    def _record(self, kind: _Kind, peer: str, count: int) -> None:
        event = RequestDenied(code=kind.code, why=kind.why, count=count)
        self._recorder.record([event], at_ms=self._wall_ms(), peer=peer, code=kind.code, who=kind.who)

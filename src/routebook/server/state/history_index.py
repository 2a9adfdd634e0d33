"""The server's history index: follows the journal on its own thread and answers questions about the past."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from routebook.history import INDEX_NAME
from routebook.journal.files import Files
from routebook.server.observe.health import Condition, Fact, Part

if TYPE_CHECKING:
    from routebook.history.index.follower import IndexFollower
    from routebook.history.query.history import History


class HistoryIndex:
    """`start` once the server listens, `stop` after its journal; both block, so call them on a thread."""

    def __init__(self, home: Path, files: Files, *, wall_ms: Callable[[], int], log: Callable[[str], None]) -> None:
        self._path = home / INDEX_NAME
        self._files = files
        self._wall_ms = wall_ms
        self._log = log
        self._follower: IndexFollower | None = None
        self._start_problem: str | None = None
        self.answers: History | None = None

    def start(self) -> "History":
        from routebook.history.index.follower import IndexFollower  # noqa: PLC0415  imports SQLite: only after listening
        from routebook.history.query.history import History  # noqa: PLC0415

        follower = self._follower = IndexFollower(self._path, self._files, log=self._log)
        follower.start()
        self.answers = History(self._path, now_ms=self._wall_ms, is_catching_up=lambda: follower.state == "catching_up")
        return self.answers

    def start_failed(self, problem: Exception) -> None:
        """Log the problem and report it in `health`."""
        self._start_problem = f"history is not indexed until the next start: {str(problem) or type(problem).__name__}"
        self._log(self._start_problem)

    def stop(self) -> None:
        if self._follower is not None:
            self._follower.stop()
        if self.answers is not None:
            self.answers.close()

    def health(self) -> Part:
        """The health component `history`."""
        if self._start_problem is not None:
            return Part(Condition.DEGRADED, self._start_problem)
        if self._follower is None:
            return Part(says="the index is not open yet")
        status = self._follower.status()
        facts: dict[str, Fact] = {
            "state": status.state,
            "last_seq": status.last_seq,
            "last_at_ms": status.last_at_ms,
            "records": status.records,
            "bytes": status.bytes,
            "set_aside": status.set_aside,
        }
        if status.problem is not None:
            return Part(Condition.DEGRADED, f"history is not indexed: {status.problem}; the server retries", facts)
        return Part(facts=facts)

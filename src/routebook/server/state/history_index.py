"""The past of this server: an index that follows its journal, and who answers from it. Loaded once it listens."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from routebook.history import INDEX_NAME
from routebook.journal.files import Files
from routebook.server.observe.health import Condition, Fact, Part

if TYPE_CHECKING:
    from routebook.history.index.feeder import Feeder
    from routebook.history.query.history import History


class HistoryIndex:
    """`start` after the server listens, `stop` after its journal has. `told` gets what an operator should know."""

    def __init__(self, home: Path, files: Files, *, wall_ms: Callable[[], int], told: Callable[[str], None]) -> None:
        self._path = home / INDEX_NAME
        self._files = files
        self._wall_ms = wall_ms
        self._told = told
        self._feeder: Feeder | None = None
        self.answers: History | None = None
        self._unstarted: str | None = None  # why it is not followed at all

    def start(self) -> "History":
        """Begin to follow; who answers."""
        from routebook.history.index.feeder import Feeder  # noqa: PLC0415  SQLite, and what it needs, after listening
        from routebook.history.query.history import History  # noqa: PLC0415

        self._feeder = Feeder(self._path, self._files, told=self._told)
        self._feeder.start()
        self.answers = History(self._path, now_ms=self._wall_ms)
        return self.answers

    def did_not_start(self, problem: Exception) -> None:
        """There is no memory or no thread left for it. That is no reason not to serve routes."""
        self._unstarted = str(problem) or type(problem).__name__
        self._told(f"the past is not indexed until the next start: {self._unstarted}")

    def stop(self) -> None:
        """Waits for a second or two at most: on a thread, please."""
        if self._feeder is not None:
            self._feeder.stop()
        if self.answers is not None:
            self.answers.close()

    def part(self) -> Part:
        """For health."""
        if self._unstarted is not None:
            return Part(Condition.DEGRADED, f"the past is not indexed until the next start: {self._unstarted}")
        if self._feeder is None:
            return Part(says="the index is not open yet")
        status = self._feeder.status()
        facts: dict[str, Fact] = {
            "state": status.state,
            "last_seq": status.last_seq,
            "last_at_ms": status.last_at_ms,
            "records": status.records,
            "bytes": status.bytes,
            "set_aside": status.set_aside,
        }
        if status.problem is not None:
            return Part(Condition.DEGRADED, f"the past is not indexed: {status.problem}; it is tried again", facts)
        return Part(facts=facts)

"""Many answers of one NameServer: as many at once as it takes well, with a progress bar where that lasts."""

import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from routebook.client.bulk import fetch_routes, map_concurrently
from routebook.client.calls import NameServerCalls
from routebook.model import TopicRoute

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

K = TypeVar("K")
V = TypeVar("V")

_AT_ONCE: Final = 32
_QUIET_S: Final = 1.0


class Waiting:
    """A progress bar on stderr, only on a terminal, and only after a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._total = 0
        self._done = 0
        self._since = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def expect(self, more: int) -> None:
        """So many steps more to come."""
        self._total += more

    def step(self) -> None:
        """One step is done."""
        self._done += 1
        if self._bar is None and sys.stderr.isatty() and time.monotonic() - self._since > _QUIET_S:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, total=self._total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._what, total=self._total)
        self._bar.start()


async def gather(
    keys: Iterable[K], do: Callable[[K], Awaitable[V]], *, waiting: Waiting, at_once: int = _AT_ONCE
) -> dict[K, V]:
    """Await `do` for each key, at most `at_once` at a time, and show the progress."""
    todo = list(keys)
    waiting.expect(len(todo))
    return await map_concurrently(todo, do, limit=at_once, on_done=waiting.step)


async def all_routes(server: NameServerCalls, topics: Iterable[str], *, waiting: Waiting) -> dict[str, TopicRoute]:
    """The routes of these topics, without topics that were deleted meanwhile."""
    todo = list(topics)
    waiting.expect(len(todo))
    return await fetch_routes(server, todo, limit=_AT_ONCE, on_done=waiting.step)

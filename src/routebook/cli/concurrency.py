"""Runs many requests concurrently, with a progress bar if they take long."""

import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final, Self, TypeVar

from routebook.client.bulk import fetch_routes, map_concurrently
from routebook.client.calls import NameServerCalls
from routebook.model import TopicRoute

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

K = TypeVar("K")
V = TypeVar("V")

_DEFAULT_CONCURRENCY: Final = 32
_DELAY_S: Final = 1.0


class ProgressBar:
    """A progress bar on stderr, shown only on a terminal and only after a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._total = 0
        self._done = 0
        self._since = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def add_total(self, count: int) -> None:
        """Add steps to the total."""
        self._total += count

    def step(self) -> None:
        """Count one finished step."""
        self._done += 1
        if self._bar is None and sys.stderr.isatty() and time.monotonic() - self._since > _DELAY_S:
            self._show()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, total=self._total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._what, total=self._total)
        self._bar.start()


async def gather(
    keys: Iterable[K],
    do: Callable[[K], Awaitable[V]],
    *,
    progress: ProgressBar,
    concurrency: int = _DEFAULT_CONCURRENCY,
) -> dict[K, V]:
    """Await `do` for each key, at most `concurrency` at a time, and show the progress."""
    todo = list(keys)
    progress.add_total(len(todo))
    return await map_concurrently(todo, do, limit=concurrency, on_done=progress.step)


async def all_routes(server: NameServerCalls, topics: Iterable[str], *, progress: ProgressBar) -> dict[str, TopicRoute]:
    """Return the routes of these topics, without topics that were deleted meanwhile."""
    todo = list(topics)
    progress.add_total(len(todo))
    return await fetch_routes(server, todo, limit=_DEFAULT_CONCURRENCY, on_done=progress.step)

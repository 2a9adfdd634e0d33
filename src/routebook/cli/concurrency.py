"""Many answers of one NameServer: as many at once as it takes well, with a progress bar where that lasts."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from routebook.client.calls import NameServerCalls
from routebook.errors import TopicNotExist
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
    """Do it for each key, so many at once; the first error ends it all."""
    todo = list(keys)
    found: dict[K, V] = {}
    left = iter(todo)
    waiting.expect(len(todo))

    async def work() -> None:
        for key in left:
            found[key] = await do(key)
            waiting.step()

    workers = [asyncio.create_task(work()) for _ in range(min(at_once, len(todo)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return {key: found[key] for key in todo}


async def all_routes(server: NameServerCalls, topics: Iterable[str], *, waiting: Waiting) -> dict[str, TopicRoute]:
    """The routes of these topics; those that went meanwhile are left out."""

    async def one(topic: str) -> TopicRoute | None:
        try:
            return await server.route(topic)
        except TopicNotExist:
            return None

    found = await gather(topics, one, waiting=waiting)
    return {topic: route for topic, route in found.items() if route is not None}

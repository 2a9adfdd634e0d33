"""Questions that block, such as those to history, are asked on a thread, a few at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from routebook.server.http.errors import Refusal

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 2
_MOST_WAITING: Final = 64


class Threads:
    """`run` asks; who comes when too many wait is sent away."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="http-asks")
        self._waiting = 0

    async def run(self, ask: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._waiting >= _MOST_WAITING:
            raise Refusal(503, "too many questions about the past at once", "ask again in a moment")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: ask(*args, **kwargs))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

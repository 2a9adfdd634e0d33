"""Runs blocking calls, such as history queries, on a few threads with a bounded queue."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from routebook.server.http.errors import ApiError

T = TypeVar("T")

_THREADS: Final = 2
_MAX_WAITING: Final = 64


class ThreadPool:
    """Rejects calls with 503 when the queue is full."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="http-query")
        self._waiting = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Return the result of a blocking call. Raises ApiError if too many calls wait."""
        if self._waiting >= _MAX_WAITING:
            raise ApiError(503, "too many history queries at once", "retry in a few seconds")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

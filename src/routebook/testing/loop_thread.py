"""An event loop on its own thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_TIMEOUT_S: Final = 30.0


class LoopThread:
    """Starts in the constructor; `close` stops the loop and joins the thread."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and return its result."""
        if not self._thread.is_alive():
            work.close()
            raise RuntimeError("the loop is stopped")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_TIMEOUT_S)

    def call(self, function: Callable[[], T]) -> T:
        """Call a function in the loop and return its result."""

        async def work() -> T:
            return function()

        return self.run(work())

    def close(self) -> None:
        """Stop the loop and cancel its tasks."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_TIMEOUT_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

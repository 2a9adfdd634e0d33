"""An event loop on a thread of its own, for things that live beside a test."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_PATIENCE_S: Final = 30.0


class LoopThread:
    """Starts at once; `close` ends it and waits for it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this there; wait for what comes of it."""
        if not self._thread.is_alive():
            work.close()
            raise RuntimeError("it has been stopped")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE_S)

    def call(self, function: Callable[[], T]) -> T:
        """Call this there, between two of its own steps."""

        async def calling() -> T:
            return function()

        return self.run(calling())

    def close(self) -> None:
        """End the loop and all that still runs in it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

"""Runs `routebook` on asyncio's own event loop and records the CPU time of each callback of the loop.

    python -m tests.support.measured_loop FILE serve …

At the end it writes the longest callbacks to FILE, as JSON: milliseconds of CPU of the loop's thread, and the callback.
Other processes lengthen what a clock shows, but hardly this. A garbage collection counts to the callback that it is in.
"""

import asyncio
import atexit
import gc
import heapq
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from routebook.cli import main

_KEPT: Final = 20
_measured: list[tuple[float, str]] = []
_run = asyncio.events.Handle._run


def _measure(handle: Any) -> None:
    callback = repr(handle._callback)
    began_ns = time.thread_time_ns()
    _run(handle)
    heapq.heappush(_measured, ((time.thread_time_ns() - began_ns) / 1e6, callback))
    if len(_measured) > _KEPT:
        heapq.heappop(_measured)


def _forget(*_: object) -> None:
    """SIGUSR1: measure from now on."""
    gc.collect()
    _measured.clear()


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # its callbacks cannot be replaced
    asyncio.events.Handle._run = _measure  # type: ignore[assignment, method-assign]
    signal.signal(signal.SIGUSR1, _forget)
    atexit.register(lambda: file.write_text(json.dumps(sorted(_measured, reverse=True))))
    sys.exit(main())

"""The cost of an operation, counted instead of timed, so that the same code always gives the same number.

opcodes   instructions of Python that were executed: every call, branch and loop of ours
bytes     memory that was allocated at the most, beyond what was there before: copies that C code makes
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """The cost of one call."""

    opcodes: int
    bytes: int


def cost_of(operation: Callable[[], object], *, before: int = 5) -> Cost:
    """The lowest cost of several calls, after `before` calls that fill caches.

    A call takes a few instructions more if the journal's thread is idle and has to be woken up.
    """
    for _ in range(before):
        operation()
    gc.collect()
    gc.disable()
    try:
        _opcodes(operation)  # from Python 3.12 on, the first traced call prepares code for being traced
        opcodes = min(_opcodes(operation) for _ in range(4))
        return Cost(opcodes, min(_peak_bytes(operation) for _ in range(2)))
    finally:
        gc.enable()


def _opcodes(operation: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        if event == "call":
            frame.f_trace_lines = False
            frame.f_trace_opcodes = True
        elif event == "opcode":
            count += 1
        return trace

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        operation()
    finally:
        sys.settrace(earlier)
    return count


def _peak_bytes(operation: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        operation()  # excludes what only the first traced call allocates
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        operation()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before

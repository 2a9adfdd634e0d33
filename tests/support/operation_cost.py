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
    """The cost of a call after `before` calls that fill caches. It is counted twice and must be equal."""
    for _ in range(before):
        operation()
    gc.collect()
    gc.disable()
    try:
        _opcodes(operation)  # from Python 3.12 on, the first traced call prepares code for being traced
        first, second = _opcodes(operation), _opcodes(operation)
        assert first == second, f"one call took {first} instructions, the next {second}: the cost is not deterministic"
        return Cost(second, min(_peak_bytes(operation) for _ in range(3)))
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

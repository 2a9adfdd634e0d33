"""Long computations in steps: a generator that yields between parts of a fraction of a millisecond.

The event loop runs other requests between two steps. At each step the generator receives the current time, `now_ms`.
"""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, int, T]


def finish(steps: Steps[T], *, now_ms: int = 0) -> T:
    """Run all steps at once and return the result."""
    try:
        next(steps)
        while True:
            steps.send(now_ms)
    except StopIteration as done:
        result: T = done.value
        return result

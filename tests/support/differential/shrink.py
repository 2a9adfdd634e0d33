"""Shortens a list of steps that shows a difference, within a time limit."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.support.differential.side_by_side import Difference

StepT = TypeVar("StepT")


def shrink(
    steps: Sequence[StepT],
    difference: Difference,
    *,
    run: Callable[[Sequence[StepT]], Difference | None],
    budget_s: float,
) -> tuple[list[StepT], Difference]:
    """Delta debugging: remove ever smaller parts while a difference remains; each attempt starts with empty servers."""
    deadline = time.monotonic() + budget_s
    shortest, found = list(steps[: difference.index + 1]), difference
    for length in (1, 2, 4, 8, 16, 32):  # most differences need only the last few steps
        if length < len(shortest) and (again := run(shortest[-length:])) is not None:
            shortest, found = shortest[-length:][: again.index + 1], again
            break
    piece = max(1, len(shortest) // 2)
    while time.monotonic() < deadline:
        start, shorter = 0, False
        while start < len(shortest) and time.monotonic() < deadline:
            candidate = shortest[:start] + shortest[start + piece :]
            again = run(candidate) if candidate else None
            if again is None:
                start += piece
            else:
                shortest, found, shorter = candidate[: again.index + 1], again, True
        if piece == 1 and not shorter:
            break
        piece = piece if shorter and piece == 1 else max(1, piece // 2)
    return shortest, found

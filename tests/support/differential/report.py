"""Runs steps on two servers and fails with the shortest list of steps that shows a difference."""

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

import pytest

from tests.support.differential.shrink import shrink
from tests.support.differential.side_by_side import Difference

SHRINK_BUDGET_S: Final = 120.0
SETTINGS: Final = (319, 1010)
StepT_contra = TypeVar("StepT_contra", contravariant=True)


class Runs(Protocol[StepT_contra]):
    """Drives two servers side by side."""

    reference: Any
    subject: Any

    def run(self, steps: Sequence[StepT_contra], /) -> Difference | None:
        """Take the steps, until the first difference."""


def check(runner: Runs[StepT_contra], steps: Sequence[StepT_contra], *, found_with: str) -> None:
    """Fail at a difference. `found_with` are the options that repeat the run."""
    difference = runner.run(steps)
    if difference is not None:
        shortest, shown = shrink(steps, difference, run=runner.run, budget_s=SHRINK_BUDGET_S)
        found = f"a difference, found with {found_with}; the shortest list of steps that shows one:"
        pytest.fail(f"{found}\n{explain(shortest, shown, runner=runner)}", pytrace=False)


def explain(steps: Sequence[Any], difference: Difference, *, runner: Runs[Any]) -> str:
    lines = [f"{number:3}. {step}" for number, step in enumerate(steps, 1)]
    asked_after = steps[difference.index] is not difference.question
    lines += [f"then {difference.question}"] if asked_after else []
    left, right = str(difference.reference), str(difference.subject)
    if difference.question.code in SETTINGS:  # forty lines: show only those that differ
        left, right = (
            " ".join(sorted(set(one.split("\\n")) - set(other.split("\\n"))))
            for one, other in ((left, right), (right, left))
        )
    return "\n".join([*lines, f"  {runner.reference.name}: {left}", f"  {runner.subject.name}: {right}"])

"""Routebook beside the Java NameServer 5.5.0: the same thousands of random operations, the same answers."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from tests.support.differential.endpoint import Endpoint
from tests.support.differential.examples import EXAMPLES
from tests.support.differential.generate import Generator
from tests.support.differential.known import KNOWN
from tests.support.differential.run import Difference, Runner
from tests.support.differential.shrink import shrink
from tests.support.differential.steps import Step
from tests.support.documented import documented_anchors
from tests.support.java import java_nameserver
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]

SHRINK_BUDGET_S: Final = 120.0


@contextmanager
def java(folder: Path, name: str = "java") -> Iterator[Endpoint]:
    """A Java NameServer that can be started afresh."""
    homes = (folder / f"{name}-{number}" for number in count())
    with _restartable(name, lambda: java_nameserver(next(homes))) as endpoint:
        yield endpoint


@contextmanager
def routebook(folder: Path) -> Iterator[Endpoint]:
    """A Routebook that can be started afresh."""
    homes = (folder / f"routebook-{number}" for number in count())
    with _restartable("routebook", lambda: _routebook(next(homes))) as endpoint:
        yield endpoint


@contextmanager
def _routebook(home: Path) -> Iterator[tuple[str, int]]:
    with serving(home) as process:
        yield process.address


@contextmanager
def _restartable(name: str, start: Callable[[], AbstractContextManager[tuple[str, int]]]) -> Iterator[Endpoint]:
    with ExitStack() as running:

        def restart() -> tuple[str, int]:
            running.close()
            return running.enter_context(start())

        with closing(Endpoint(name, restart)) as endpoint:
            yield endpoint


def explain(steps: list[Step], difference: Difference, *, runner: Runner) -> str:
    lines = [f"{number:3}. {step}" for number, step in enumerate(steps, 1)]
    asked_after = steps[difference.index] is not difference.question
    lines += [f"then {difference.question}"] if asked_after else []
    left, right = str(difference.reference), str(difference.subject)
    if difference.question.code == 319:  # forty lines: those that are the same tell nothing
        left, right = (
            " ".join(sorted(set(one.split("\\n")) - set(other.split("\\n"))))
            for one, other in ((left, right), (right, left))
        )
    return "\n".join([*lines, f"  {runner.reference.name}: {left}", f"  {runner.subject.name}: {right}"])


def compare(runner: Runner, *, seed: int, operations: int) -> None:
    steps = Generator(seed).steps(operations)
    difference = runner.run(steps)
    if difference is not None:
        shortest, shown = shrink(steps, difference, run=runner.run, budget_s=SHRINK_BUDGET_S)
        found = f"a difference, found with --differential-seed={seed} --differential-ops={operations}"
        told = explain(shortest, shown, runner=runner)
        pytest.fail(f"{found}; the shortest list of steps that shows one:\n{told}", pytrace=False)


def test_java_agrees_with_java(tmp_path: Path) -> None:
    """The harness itself: two Java servers show no difference."""
    with java(tmp_path) as reference, java(tmp_path, "java too") as subject:
        compare(Runner(reference, subject), seed=1, operations=300)


def test_known_differences_are_documented() -> None:
    assert {known.anchor for known in KNOWN} <= documented_anchors()
    assert [known.name for known in KNOWN] == list(EXAMPLES)


def test_known_differences_are_still_there_and_covered_by_their_rules(tmp_path: Path) -> None:
    """A rule that nothing needs any more would hide a difference one day."""
    unneeded, uncovered = [], []
    with java(tmp_path) as reference, routebook(tmp_path) as subject:
        runner = Runner(reference, subject)
        for rule in KNOWN:
            runner.known = [known for known in KNOWN if known is not rule]
            if runner.run(EXAMPLES[rule.name]) is None:
                unneeded.append(rule.name)
            runner.known = KNOWN
            if (difference := runner.run(EXAMPLES[rule.name])) is not None:
                uncovered.append(explain(list(EXAMPLES[rule.name]), difference, runner=runner))
    assert unneeded == []
    assert "\n".join(uncovered) == ""


def test_routebook_agrees_with_java(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    seed = pytestconfig.getoption("--differential-seed")
    with java(tmp_path) as reference, routebook(tmp_path) as subject:
        compare(Runner(reference, subject), seed=seed, operations=pytestconfig.getoption("--differential-ops"))

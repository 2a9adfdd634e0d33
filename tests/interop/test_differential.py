"""Routebook beside the Java NameServer 5.5.0: thousands of random operations must get the same replies."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.compatibility_page import documented_anchors
from tests.support.differential.endpoint import Endpoint
from tests.support.differential.examples import EXAMPLES
from tests.support.differential.generate import Generator
from tests.support.differential.known import KNOWN
from tests.support.differential.report import check, explain
from tests.support.differential.run import Runner
from tests.support.differential.servers import java, routebook

pytestmark = pytest.mark.java

QUICK_OPERATIONS: Final = 300


def compare(runner: Runner, *, seed: int, operations: int) -> None:
    check(
        runner,
        Generator(seed).steps(operations),
        found_with=f"--differential-seed={seed} --differential-ops={operations}",
    )


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with java(tmp_path_factory.mktemp("java")) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def second_java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with java(tmp_path_factory.mktemp("second"), "second java") as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with routebook(tmp_path_factory.mktemp("routebook")) as endpoint:
        yield endpoint


@pytest.mark.slow
def test_java_agrees_with_java(reference: Endpoint, second_java: Endpoint) -> None:
    """The harness itself: two Java servers show no difference."""
    compare(Runner(reference, second_java), seed=1, operations=300)


@pytest.mark.slow
def test_a_planted_difference_is_found_and_shown_in_one_step(
    reference: Endpoint, second_java: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness itself: a server that stores a wrong value is caught when the value is read."""
    honest = second_java.exchange
    monkeypatch.setattr(second_java, "exchange", lambda conn, data, expect: honest(conn, _altered(data), expect=expect))
    with pytest.raises(
        pytest.fail.Exception, match=r"--differential-seed=2 .*\n +1\. \[q\d\] (binary )?100 .*\n(then|  java: )"
    ):
        compare(Runner(reference, second_java), seed=2, operations=300)


def _altered(data: bytes) -> bytes:
    return data.replace(b":4", b":5") if b"namespace" in data else data


def test_known_differences_are_documented() -> None:
    assert {known.anchor for known in KNOWN} <= documented_anchors()
    assert [known.name for known in KNOWN] == list(EXAMPLES)


@pytest.mark.slow
def test_known_differences_exist_and_are_covered_by_their_rules(reference: Endpoint, subject: Endpoint) -> None:
    """An obsolete rule could hide a new difference."""
    unneeded, uncovered = [], []
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


def test_routebook_agrees_with_java_in_a_short_run(
    reference: Endpoint, subject: Endpoint, pytestconfig: pytest.Config
) -> None:
    compare(Runner(reference, subject), seed=pytestconfig.getoption("--differential-seed"), operations=QUICK_OPERATIONS)


@pytest.mark.slow
def test_routebook_agrees_with_java(reference: Endpoint, subject: Endpoint, pytestconfig: pytest.Config) -> None:
    seed, operations = (pytestconfig.getoption(f"--differential-{name}") for name in ("seed", "ops"))
    compare(Runner(reference, subject), seed=seed, operations=operations)

"""Routebook's Controller beside the Java Controller 5.5.0: random operations get the same answers and notifications."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.compatibility_page import documented_anchors
from tests.support.differential.report import check, explain
from tests.support.differential_controller.endpoint import ControllerEndpoint, endpoints
from tests.support.differential_controller.examples import EXAMPLES
from tests.support.differential_controller.generate import Generator
from tests.support.differential_controller.known import KNOWN, same_notifications
from tests.support.differential_controller.run import Runner
from tests.support.remoting_frames import Reply

pytestmark = pytest.mark.java

OPERATIONS: Final = 300  # of one run, whose broker sets are its own

Both = tuple[ControllerEndpoint, ControllerEndpoint]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with endpoints(tmp_path_factory.mktemp("controllers")) as made:
        yield made


def compare(runner: Runner, *, seed: int, operations: int) -> None:
    """Runs of 300 operations, each with its own seed."""
    for number in range(seed, seed + max(1, operations // OPERATIONS)):
        found_with = f"--differential-seed={number} --differential-ops={OPERATIONS}"
        check(runner, Generator(number).steps(OPERATIONS), found_with=found_with)


@pytest.mark.parametrize(
    ("java", "ours", "same"),
    [
        ("a b", "a b", True),
        ("a a b", "a b", True),
        ("a b a", "a b", True),
        ("a b", "a a b", False),
        ("b a", "a b", False),
        ("a b c", "a b", False),
        ("a b", "a b c", False),
        ("", "a", False),
    ],
)
def test_only_repetitions_of_java_are_excused(java: str, ours: str, same: bool) -> None:
    left, right = ({"addr": [frame.encode() for frame in text.split()]} for text in (java, ours))
    assert same_notifications(left, right) is same
    assert not same_notifications(left, {"other": right["addr"]})


def test_known_differences_are_documented() -> None:
    assert {known.anchor for known in KNOWN} <= documented_anchors()
    assert [known.name for known in KNOWN] == list(EXAMPLES)


@pytest.mark.slow
def test_known_differences_exist_and_are_covered_by_their_rules(both: Both) -> None:
    """An obsolete rule could hide a new difference."""
    unneeded, uncovered = [], []
    runner = Runner(*both)
    for rule in KNOWN:
        runner.known = [known for known in KNOWN if known is not rule]
        if runner.run(EXAMPLES[rule.name]) is None:
            unneeded.append(rule.name)
        runner.known = KNOWN
        if (difference := runner.run(EXAMPLES[rule.name])) is not None:
            uncovered.append(explain(EXAMPLES[rule.name], difference, runner=runner))
    assert unneeded == []
    assert "\n".join(uncovered) == ""


@pytest.mark.slow
@pytest.mark.parametrize("part", [b"2004", b'"masterEpoch":"2"'])
def test_a_planted_difference_is_found(both: Both, part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: an answer or a notification that differs in one digit is found."""
    honest = ControllerEndpoint._inwards

    def altered(self: ControllerEndpoint, reply: Reply) -> Reply:
        reply = honest(self, reply)
        wrong = reply.raw.replace(part, part.replace(b"2", b"7"))
        return Reply.parse(wrong) if self.name == "routebook" else reply

    monkeypatch.setattr(ControllerEndpoint, "_inwards", altered)
    with pytest.raises(pytest.fail.Exception, match=r"--differential-seed=\d+ .*\n +1\. "):
        compare(Runner(*both), seed=5, operations=3000)


@pytest.mark.slow
def test_routebook_agrees_with_java(both: Both, pytestconfig: pytest.Config) -> None:
    seed, operations = (pytestconfig.getoption(f"--differential-{name}") for name in ("seed", "ops"))
    compare(Runner(*both), seed=seed, operations=operations // 3)

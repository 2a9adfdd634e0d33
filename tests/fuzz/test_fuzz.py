"""Arbitrary bytes cause documented errors only: no hang, no unbounded memory, no change in a round trip.

Hypothesis searches small inputs; then the corpora are mutated, for `--fuzz-seconds` over all targets. `make fuzz` runs
for minutes; tests/fuzz/guided.py is guided by coverage, with atheris.
"""

import random
import resource
import signal
import time
from types import FrameType

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutation import mutations, seeds
from tests.fuzz.targets import TARGETS
from tests.support.reliability_report import ReliabilityReport

HANG_S = 30
MAX_GROWTH_BYTES = 400 << 20
EXAMPLES = 60


class Hang(BaseException):
    """An input took longer than HANG_S. A BaseException, so that no handler catches it."""


@pytest.mark.parametrize("name", TARGETS)
def test_small_inputs_cause_documented_errors_only(name: str) -> None:
    corpus, make = TARGETS[name]
    target, known = make(), seeds(corpus)
    edits = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 8), st.binary(max_size=4)), max_size=4)

    @example((b"", []))
    @given(st.tuples(st.sampled_from(known) | st.binary(max_size=200), edits))
    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    def any_bytes(drawn: tuple[bytes, list[tuple[int, int, bytes]]]) -> None:
        data = bytearray(drawn[0])
        for at, size, new in drawn[1]:
            data[at : at + size] = new
        target(bytes(data))

    any_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_mutated_corpora_cause_documented_errors_only(
    name: str, pytestconfig: pytest.Config, reliability_report: ReliabilityReport
) -> None:
    corpus, make = TARGETS[name]
    target, known = make(), seeds(corpus)
    seed: int = pytestconfig.getoption("--fuzz-seed")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs, data = 0, b""
    until = time.monotonic() + pytestconfig.getoption("--fuzz-seconds") / len(TARGETS)
    wanted: int | None = pytestconfig.getoption("--fuzz-inputs")
    share = None if wanted is None else _share(wanted, name)
    previous = signal.signal(signal.SIGALRM, _raise_hang)
    try:
        for data in mutations(known, random.Random(f"{seed} {name}")):
            if inputs % 64 == 0:
                signal.setitimer(signal.ITIMER_REAL, HANG_S)
            target(data)
            inputs += 1
            is_last = inputs % 64 == 0 and time.monotonic() > until if share is None else inputs >= share
            if is_last:
                break
    except BaseException as error:
        error.add_note(f"--fuzz-seed={seed}, input {inputs} of {name}; in hexadecimal:\n{data.hex()}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MAX_GROWTH_BYTES, f"{grown} bytes more than before the test"
    reliability_report.add("fuzz", name, inputs=inputs, failures=0)


def _share(wanted: int, name: str) -> int:
    """Inputs of one target. A whole journal takes a hundred times as long as another input, so it gets a hundredth."""
    journals = wanted // 100
    return journals if name == "journals" else -(-(wanted - journals) // (len(TARGETS) - 1))


def _raise_hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hang

"""Any bytes: only documented errors, no standing still, no memory without end, and what was understood stays the same.

Hypothesis looks for small inputs; after it random changes of the corpora go on for a while: `--fuzz-seconds` for all
targets together. `make fuzz` takes minutes, and tests/fuzz/guided.py lets coverage lead where atheris is installed.
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
from tests.support.ledger import Ledger

HANG_S = 30
MOST_GROWTH_BYTES = 400 << 20
EXAMPLES = 60


class Hang(BaseException):
    """One input took this long; nothing on the way may catch it."""


@pytest.mark.parametrize("name", TARGETS)
def test_small_inputs(name: str) -> None:
    corpus, make = TARGETS[name]
    judge, known = make(), seeds(corpus)
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
        judge(bytes(data))

    any_bytes()


@pytest.mark.parametrize("name", TARGETS)
def test_changed_corpora(name: str, pytestconfig: pytest.Config, ledger: Ledger) -> None:
    corpus, make = TARGETS[name]
    judge, known = make(), seeds(corpus)
    seed: int = pytestconfig.getoption("--fuzz-seed")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs, data = 0, b""
    until = time.monotonic() + pytestconfig.getoption("--fuzz-seconds") / len(TARGETS)
    previous = signal.signal(signal.SIGALRM, _hangs)
    try:
        for data in mutations(known, random.Random(f"{seed} {name}")):
            if inputs % 64 == 0:
                signal.setitimer(signal.ITIMER_REAL, HANG_S)
            judge(data)
            inputs += 1
            if inputs % 64 == 0 and time.monotonic() > until:
                break
    except BaseException as error:
        error.add_note(f"--fuzz-seed={seed}, input {inputs} of {name}; in hexadecimal:\n{data.hex()}")
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_GROWTH_BYTES, f"{grown} bytes more than before"
    ledger.note("fuzz", name, inputs=inputs, failures=0)


def _hangs(_signal: int, _frame: FrameType | None) -> None:
    raise Hang

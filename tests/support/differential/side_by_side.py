"""Drives two servers side by side: takes steps on both until the first difference."""

import itertools
import string
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from tests.support.differential.endpoint import SETTLE_TIMEOUT_S, Answer, Endpoint
from tests.support.differential.known import Question
from tests.support.differential.steps import Ask

EndpointT = TypeVar("EndpointT", bound=Endpoint)
KnownT = TypeVar("KnownT")
StepT = TypeVar("StepT")

_RUNS: Final = itertools.count()  # of all runners, since they may share a server


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first request with different replies, and the step before it."""

    index: int = -1
    question: Question
    reference: Answer
    subject: Answer


class SideBySide(ABC, Generic[EndpointT, KnownT, StepT]):
    """`known` are the rules for deliberate differences."""

    everything_every: int  # steps between two comparisons of the whole state
    settle_timeout_s: float = SETTLE_TIMEOUT_S
    _state: Any  # what the harness knows of a run; it has the `tag` of the run's names

    def __init__(self, reference: EndpointT, subject: EndpointT, *, known: Sequence[KnownT]) -> None:
        self.reference = reference
        self.subject = subject
        self.known = known
        self.taken = 0
        self.skipped = 0

    @property
    def both(self) -> tuple[EndpointT, EndpointT]:
        return self.reference, self.subject

    def run(self, steps: Sequence[StepT]) -> Difference | None:
        """Take the steps from a new state, until the first difference."""
        self._begin(_make_tag(next(_RUNS)))
        for index, step in enumerate(steps):
            difference = self._take(step)
            if difference is None and ((index + 1) % self.everything_every == 0 or index + 1 == len(steps)):
                difference = self._compare_everything()
            if difference is not None:
                return replace(difference, index=index)
        return None

    @abstractmethod
    def _begin(self, tag: str) -> None: ...

    @abstractmethod
    def _take(self, step: StepT) -> Difference | None: ...

    @abstractmethod
    def _compare_everything(self) -> Difference | None: ...

    @abstractmethod
    def _judge(self, question: Any, reference: Answer, subject: Answer) -> Difference | None: ...

    def _compare_all(self, questions: Sequence[Ask]) -> Difference | None:
        numbered = [replace(question, opaque=number) for number, question in enumerate(questions, 1)]
        reference, subject = (endpoint.ask_all(numbered, self._state.tag) for endpoint in self.both)
        for question, left, right in zip(numbered, reference, subject, strict=True):
            difference = self._judge(question, Answer(replies=(left,)), Answer(replies=(right,)))
            if difference is not None:
                return difference
        return None

    def _await_agreement(self) -> None:
        """A one-way request has no reply: wait until both agree, or find the difference later."""
        deadline = time.monotonic() + self.settle_timeout_s
        while self._compare_everything() is not None and time.monotonic() < deadline:
            pass


def _make_tag(number: int) -> str:
    """Two letters for the names of one run."""
    letters = string.ascii_letters + string.digits
    high, low = divmod(number, len(letters))
    return letters[high % len(letters)] + letters[low]

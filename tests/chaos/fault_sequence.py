"""The order in which a chaos run injects its kinds of fault."""

import random
from collections.abc import Iterable


class FaultSequence:
    """All kinds of fault in random order, repeated in another order."""

    def __init__(self, kinds: Iterable[str], chance: random.Random) -> None:
        self._kinds = list(kinds)
        self._chance = chance
        self._due: list[str] = []

    def next(self) -> str:
        if not self._due:
            self._due = self._chance.sample(self._kinds, len(self._kinds))
        return self._due.pop()

"""Chance that repeats: one stream of numbers per seed and purpose, so that one more draw here changes nothing there."""

from random import Random


def chance(seed: int, purpose: str) -> Random:
    """A stream of its own. The same seed and purpose give the same numbers on every machine."""
    return Random(f"{seed}/{purpose}")  # noqa: S311 - make-believe needs no secrets

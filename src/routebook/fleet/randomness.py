"""Reproducible random numbers: one independent stream per seed and purpose."""

from random import Random


def random_stream(seed: int, purpose: str) -> Random:
    """Return the stream for a purpose; the same seed and purpose give the same numbers on every machine."""
    return Random(f"{seed}/{purpose}")  # noqa: S311 - simulation, not cryptography

"""The rows of look-ups in a closed loop, with their goals."""

from typing import Final, NamedTuple

from benchmarks.suite.plans import Credentials
from benchmarks.suite.results import Goal


class LookUp(NamedTuple):
    """A row of look-ups in a closed loop."""

    key: str
    title: str
    wide: bool
    connections: int
    depth: int
    goals: tuple[Goal, ...]
    kind: str = ""  # of requests other than JSON look-ups of routes, for Routebook and Java


def goals_of(sign: str, **ratios: float) -> tuple[Goal, ...]:
    """At least or at most this ratio to each peer."""
    return tuple(Goal(peer, ">=" if sign == ">=" else "<=", ratio) for peer, ratio in ratios.items())


LOOK_UPS: Final = (
    LookUp("narrow-32", "3-broker routes, 32 connections", False, 32, 1, goals_of(">=", java=3, rust=3, limit=0.5)),
    LookUp("narrow-256", "3-broker routes, 256 connections", False, 256, 1, goals_of(">=", java=2, rust=3, limit=0.5)),
    LookUp("narrow-deep", "the same, 32 × 16 deep", False, 32, 16, goals_of(">=", java=2.5, rust=8, limit=0.2)),
    LookUp("wide-32", "300-broker routes, 32 connections", True, 32, 1, goals_of(">=", java=5, rust=6, limit=0.75)),
    LookUp("missing-32", "no such topic, 32 connections", False, 32, 1, goals_of(">=", java=2.5), "missing"),
    LookUp("missing-deep", "no such topic, 32 × 16 deep", False, 32, 16, goals_of(">=", java=4), "missing"),
    LookUp("binary-32", "binary header, 32 connections", False, 32, 1, goals_of(">=", java=3), "binary"),
    LookUp("binary-deep", "binary header, 32 × 16 deep", False, 32, 16, goals_of(">=", java=5), "binary"),
    LookUp("tls-32", "TLS, 32 connections", False, 32, 1, goals_of(">=", java=2), "tls"),
    LookUp("tls-deep", "TLS, 32 × 16 deep", False, 32, 16, (), "tls"),
    LookUp("signed-32", "signed, 32 connections; Java does not verify", False, 32, 1, goals_of(">=", java=3), "signed"),
    LookUp("signed-deep", "signed, 32 × 16 deep; Java does not verify", False, 32, 16, (), "signed"),
)
CREDENTIALS: Final = Credentials("bench", "a-secret-of-the-benchmark")
IDENTITIES: Final = """
[[identity]]
name = "bench"
secret = "a-secret-of-the-benchmark"
access = ["broker_control"]
"""

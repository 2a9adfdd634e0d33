"""Routebook beside the Java NameServer 5.5.0: mutated frames get the same replies and have the same effects."""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from tests.support.compatibility_page import documented_anchors
from tests.support.differential import mutation_run
from tests.support.differential.endpoint import Answer, Endpoint
from tests.support.differential.mutate import KINDS, Mutator
from tests.support.differential.mutation_run import ANCHORS, MutationRun
from tests.support.differential.servers import java, routebook

pytestmark = pytest.mark.java

ACCEPTED_PER_FRAMES: Final = 10_000  # one difference each; few frames with a fresh seed may contain one, too
SLOW_KINDS: Final = {"deflated": 10}  # a length that is too large makes Java collect its whole heap


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Endpoint, Endpoint]]:
    folder = tmp_path_factory.mktemp("mutations")
    with java(folder) as reference, routebook(folder) as subject:
        yield reference, subject


def test_rules_are_documented() -> None:
    assert documented_anchors() >= ANCHORS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_frames(kind: str, servers: tuple[Endpoint, Endpoint], pytestconfig: pytest.Config) -> None:
    frames, seed = (pytestconfig.getoption(f"--{name}") for name in ("mutated-frames", "differential-seed"))
    if frames < 10_000:
        frames = frames // SLOW_KINDS.get(kind, 1)
    run = MutationRun(*servers)
    found = list(run.differences(Mutator(f"{seed} {kind}", first=100_000 * list(KINDS).index(kind)), kind, frames))
    rate = f"{kind}: {frames} frames, {len(found)} undocumented differences, documented ones: {dict(run.documented)}"
    sys.stdout.write(f"\n{rate}\n")  # shown by `make mutations`
    assert len(found) <= max(1, frames // ACCEPTED_PER_FRAMES), "\n\n".join(map(str, found[:10]))


def test_a_planted_difference_is_found(servers: tuple[Endpoint, Endpoint], monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: a server that reads other names shows differences."""
    reference, subject = servers
    send = mutation_run.over_own_connections

    def altered(endpoint: Endpoint, data: Sequence[bytes]) -> list[Answer]:
        return send(endpoint, [one.replace(b'"m', b'"x') for one in data] if endpoint is subject else data)

    monkeypatch.setattr(mutation_run, "over_own_connections", altered)
    assert list(MutationRun(reference, subject).differences(Mutator(1), "ext", 100))

"""Activity per time step, from a real journal folder."""

from routebook.events import ServerStopped
from routebook.history.query.offline import open_offline
from tests.support.small_journals import BORN, STARTED, Journal, down, up


def test_brokers_and_changes_are_counted_per_time_step(journal: Journal) -> None:
    journal.write(0, STARTED, up())
    journal.write(25, down())
    journal.write(35, up())
    journal.write(39, ServerStopped(reason="SIGTERM"))
    with open_offline(journal.home) as history:
        points, certainty = history.activity(from_ms=BORN - 10_000, step_ms=10_000, steps=6)
    assert [point.at_ms - BORN for point in points] == [-10_000, 0, 10_000, 20_000, 30_000, 40_000]
    assert [point.brokers for point in points] == [None, 1, 1, 0, None, None]
    assert [point.ups for point in points] == [0, 1, 0, 0, 1, 0]
    assert [point.downs for point in points] == [0, 0, 0, 1, 0, 0]
    assert [point.observed for point in points] == [False, True, True, True, False, False]
    assert not certainty.known

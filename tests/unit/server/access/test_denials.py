"""Denied requests are recorded; a flood of them adds few records, whose counts add up."""

from routebook.event_base import RequestEvent
from routebook.events import RequestDenied
from routebook.journal.record import Record
from routebook.server.access.denials import Denials
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder


class Listener:
    """Collects the published events."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def publish(self, record: Record) -> None:
        self.events.append(record.event)

    @property
    def denied(self) -> list[RequestDenied]:
        return [event for event in self.events if isinstance(event, RequestDenied)]


def denials() -> tuple[Denials, Listener]:
    listener = Listener()
    recorder = Recorder(event_log=EventLog(lambda: 0.0), ns="n", boot="b", publish=listener.publish)
    return Denials(recorder, lambda: 1), listener


def test_the_first_denial_is_recorded_at_once() -> None:
    denying, listener = denials()
    denying.denied(code=100, why="x has no admin_write", peer="10.0.0.1:5", who="x")
    (event,) = listener.events
    assert isinstance(event, RequestEvent)
    assert event == RequestDenied(code=100, why="x has no admin_write", peer="10.0.0.1:5", who="x")


def test_repetitions_are_counted() -> None:
    denying, listener = denials()
    for port in range(1000):
        denying.denied(code=105, why="not signed", peer=f"10.0.0.1:{port}")
    assert [event.count for event in listener.denied] == [1]
    denying.flush()
    assert [(event.count, event.peer) for event in listener.denied] == [(1, "10.0.0.1:0"), (999, "10.0.0.1:999")]
    denying.flush()
    assert len(listener.denied) == 2
    denying.denied(code=105, why="not signed", peer="10.0.0.1:7")
    assert len(listener.denied) == 3


def test_a_flood_of_different_denials_is_bounded_and_counted() -> None:
    denying, listener = denials()
    for number in range(100_000):
        denying.denied(code=105, why=f"unknown access key {number % 5000}", peer=f"10.0.{number % 7}.1:1")
    denying.flush()
    assert len(listener.events) <= 201
    assert sum(event.count for event in listener.denied) == denying.total == 100_000
    assert listener.denied[-1].peer is None

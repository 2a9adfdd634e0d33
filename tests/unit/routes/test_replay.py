"""Tables rebuilt from events serve as before, without connections until the brokers return."""

import msgspec
import pytest

from routebook.effects import Change
from routebook.events import BrokerDown, BrokerReturned, DownReason, RouteEvent
from routebook.routes import RouteTable
from tests.support.route_tables import (
    ACTING,
    MASTER,
    OTHER,
    PLAIN,
    PURGING,
    SLAVE,
    check_consistency,
    dump,
    key,
    mapping,
    queue,
    register,
    registration,
    route,
    unregister,
    version,
)


@pytest.fixture
def history() -> tuple[RouteTable, list[RouteEvent]]:
    """A table that has seen every kind of event, and the events."""
    table = RouteTable()
    changes = [
        register(table, registration(acting_master=True, mappings=[mapping("base", "broker-a")]), connection=1),
        register(table, registration(addr=SLAVE, broker_id=1, acting_master=True), connection=2),
        register(table, registration("broker-b", addr=OTHER, cluster="two", filter_servers=("f:1",)), connection=3),
        table.register_topic("N", [queue("broker-a"), queue("broker-b", read=1)]),
        table.wipe_write("broker-a")[1],
        table.restore_write("broker-a")[1],
        table.wipe_write("broker-b")[1],
        table.delete_topic("base", cluster="two"),
        register(table, registration(addr=SLAVE, acting_master=True, data_version=version(2)), policy=PURGING),
        register(table, registration(addr=MASTER, broker_id=1, acting_master=True, zone="Z"), connection=4),
        unregister(table, registration(addr=SLAVE), policy=ACTING),
        register(table, registration("broker-b", addr=OTHER, cluster="three"), connection=5),
        register(table, registration("gone", addr="gone:1", mappings=[mapping("x", "gone")]), connection=6),
        table.connection_lost(6, reason=DownReason.CLOSED, policy=PLAIN),
    ]
    return table, [event for change in changes for event in change.events]


def replay(events: list[RouteEvent], *, now_ms: int = 0) -> RouteTable:
    table = RouteTable()
    for event in events:
        table.apply(event, now_ms=now_ms)
    return table


def test_replaying_all_events_rebuilds_the_tables(history: tuple[RouteTable, list[RouteEvent]]) -> None:
    table, events = history
    kinds = {type(event) for event in events}
    assert len(kinds) == 8  # every kind of RouteEvent
    replayed = replay(events)
    assert dump(replayed) == dump(table)
    check_consistency(replayed)
    for topic in table.topics():
        assert route(replayed, topic, ACTING) == route(table, topic, ACTING)


def test_events_survive_the_journal(history: tuple[RouteTable, list[RouteEvent]]) -> None:
    table, events = history
    text = msgspec.json.encode(events)
    assert dump(replay(msgspec.json.decode(text, type=list[RouteEvent]))) == dump(table)


def test_a_recovered_broker_has_a_lease(history: tuple[RouteTable, list[RouteEvent]]) -> None:
    replayed = replay(history[1], now_ms=1000)
    assert replayed.expire(121_000, policy=PLAIN) == Change()
    change = replayed.expire(121_001, policy=PLAIN)
    assert change.effects == ()  # there is no connection to close
    assert {event.reason for event in change.events if isinstance(event, BrokerDown)} == {DownReason.EXPIRED}
    assert dump(replayed) == dump(RouteTable())


def test_a_recovered_broker_that_registers_again_is_unchanged(history: tuple[RouteTable, list[RouteEvent]]) -> None:
    replayed = replay(history[1])
    what = registration("broker-b", addr=OTHER, cluster="three")
    returned = BrokerReturned(cluster="three", broker="broker-b", broker_id=0, addr=OTHER)
    assert register(replayed, what, connection=9) == Change((returned,))
    assert register(replayed, what, connection=9) == Change()
    change = replayed.connection_lost(9, reason=DownReason.CLOSED, policy=PLAIN)
    assert isinstance(change.events[0], BrokerDown)
    assert not replayed.has_lease(key(OTHER, "three"))


def test_replayed_tables_count_revisions(history: tuple[RouteTable, list[RouteEvent]]) -> None:
    replayed = replay(history[1])
    assert replayed.revision == len(history[1])
    before = replayed.route_revision("N")
    replayed.register_topic("N", [queue("broker-b", read=9)])
    assert replayed.route_revision("N") > before


def test_replayed_queues_are_shared(history: tuple[RouteTable, list[RouteEvent]]) -> None:
    text = msgspec.json.encode(history[1])
    replayed = replay(msgspec.json.decode(text, type=list[RouteEvent]))
    queues = [entry.queues["broker-a"] for entry in replayed.topic_table.values() if "broker-a" in entry.queues]
    assert len({id(q) for q in queues}) == len(set(queues))

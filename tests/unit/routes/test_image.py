"""Images of the tables are complete, consistent and small, and can be restored."""

import random

import msgspec
import pytest

from routebook.errors import SnapshotError
from routebook.events import BrokerReturned
from routebook.routes import RouteTable
from routebook.routes.image import Capture, Image, capture
from tests.support.route_tables import (
    ACTING,
    OTHER,
    SLAVE,
    check_consistency,
    config,
    dump,
    key,
    mapping,
    register,
    registration,
    version,
)


def filled() -> RouteTable:
    table = RouteTable()
    register(table, registration(topics=("A", "B", "C"), zone="Z", mappings=[mapping("A", "broker-a")]))
    register(table, registration(addr=SLAVE, broker_id=1, zone="Z"), connection=2)
    register(table, registration("broker-b", addr=OTHER, cluster="two", topics=("A", "B", config("D", read=1))))
    register(table, registration("broker-c", addr=OTHER, cluster="two", filter_servers=("f:1",)))  # a shared lease
    table.wipe_write("broker-b")
    return table


def restored(image: Image) -> RouteTable:
    table = RouteTable()
    table.restore(msgspec.json.decode(msgspec.json.encode(image), type=Image))
    check_consistency(table)
    return table


def test_tables_are_restored() -> None:
    table = filled()
    again = restored(capture(table))
    assert dump(again) == dump(table)
    for topic in table.topics():
        assert again.route(topic, ACTING) == table.route(topic, ACTING)
    assert dump(restored(capture(RouteTable()))) == dump(RouteTable())


def test_restored_brokers_are_disconnected_until_they_return() -> None:
    again = restored(capture(filled()))
    assert again.is_disconnected(key())
    change = register(again, registration(topics=("A", "B", "C"), zone="Z", mappings=[mapping("A", "broker-a")]))
    assert [type(event) for event in change.events] == [BrokerReturned]
    assert not again.is_disconnected(key())


def test_uncertainty_is_kept() -> None:
    table = filled()
    table.begin_leases(0, max_ms=1, uncertain={"broker-b"})
    again = restored(capture(table))
    assert [lease.is_uncertain for lease in again.lease_table.values()] == [False, False, True]


def test_equal_layouts_are_stored_once() -> None:
    table = RouteTable()
    topics = [f"topic-{n}" for n in range(500)]
    for n in range(20):
        register(table, registration(f"b{n}", addr=f"10.0.0.{n}:1", topics=topics))
    image = capture(table)
    assert (len(image.queues), len(image.layouts), len(image.topics)) == (20, 1, 500)
    again = restored(image)
    assert again.topic_table["topic-1"].queues is not again.topic_table["topic-2"].queues


@pytest.mark.parametrize("seed", range(40))
def test_an_image_shows_the_state_at_its_last_step(seed: int) -> None:
    chance = random.Random(seed)
    table = RouteTable()
    for n in range(6):
        register(table, registration(f"b{n}", addr=f"{n}:1", topics=[f"t{m}" for m in range(30)]), connection=n)
    taking = Capture(table)
    counter = 1
    while True:
        captured = taking.step(max_queues=chance.choice([1, 10, 40]))
        if captured is not None:
            break
        for _ in range(chance.randint(0, 3)):
            counter += 1
            n, topic = chance.randrange(6), f"t{chance.randrange(30)}"
            match chance.randrange(5):
                case 0:
                    table.delete_topic(topic, cluster=None)
                case 1:
                    table.wipe_write(f"b{n}")
                case 2:
                    table.expire(0, policy=ACTING)
                case 3:
                    what = registration(f"b{n}", addr=f"{n}:1", topics=("x", topic), data_version=version(counter))
                    register(table, what, connection=n)
                case 4:
                    what = registration(f"b{n}", addr=f"{n}:1", topics=("x", "y"))
                    table.unregister(what.key, broker=f"b{n}", broker_id=0, connection=n, policy=ACTING)
    expected = dump(table)
    table.delete_topic("x", cluster=None)  # the image no longer hangs on the table
    assert dump(restored(captured.image())) == expected


def test_tables_that_keep_changing_are_copied() -> None:
    table = RouteTable()
    register(table, registration(topics=[f"t{m}" for m in range(30)]))
    taking = Capture(table)
    for counter in range(2, 1000):
        if taking.step(max_queues=10) is not None:
            return
        topics = [config(f"t{m}", read=counter) for m in range(30)]
        register(table, registration(topics=topics, data_version=version(counter)))
    pytest.fail("it never came to an end")


@pytest.mark.parametrize(
    "wrong",
    [{"layout_of": [7, 7, 7, 7, 7, 7]}, {"layout_of": []}, {"leases": []}, {"layouts": [[99]]}, {"topics": ["A"]}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_inconsistent_image_is_rejected(wrong: dict[str, list[object]]) -> None:
    image = msgspec.structs.replace(capture(filled()), **wrong)
    with pytest.raises(SnapshotError, match="inconsistent"):
        RouteTable().restore(image)

"""The event feed: order, selections, bounded queues, dropped subscribers, wake-ups."""

import asyncio
import itertools

import pytest

from routebook.events import BrokerDown, DownReason, Event, KvChanged
from routebook.journal.read.select import Selection
from routebook.journal.record import Record
from routebook.server.state.feed import Feed, Message, Missed
from tests.support.asynchronous import asynchronous
from tests.support.http import change
from tests.support.journal_events import EVERY_KIND

DOWN = BrokerDown(cluster="c", broker="b", broker_id=0, addr="a:1", reason=DownReason.CLOSED)


def record(seq: int, event: Event | None = None) -> Record:
    return Record(1, "n", "b", seq, 1, event or change(seq))


def plain(one: Record) -> bytes:
    return str(one.seq).encode()


def feed(last_seq: int | None = None) -> Feed:
    return Feed(last_seq=last_seq, encode=plain)


def test_a_subscriber_receives_later_records_in_order() -> None:
    some = feed()
    some.publish(record(1))
    reader = some.subscribe()
    assert reader.take() == []
    some.publish(record(2))
    some.publish(record(3))
    assert reader.take() == [Message(2, b"2"), Message(3, b"3")]
    assert reader.take() == []


def test_a_subscriber_receives_matching_records_only() -> None:
    some = feed()
    brokers = some.subscribe(Selection(kinds=frozenset({"broker_down"})))
    named = some.subscribe(Selection(brokers=frozenset({"other"})))
    some.publish(record(1))
    some.publish(record(2, DOWN))
    assert [message.seq for message in brokers.take()] == [2]
    assert named.take() == []


def test_a_record_is_encoded_once_and_only_for_subscribers() -> None:
    encoded: list[int] = []

    def encode(one: Record) -> bytes:
        encoded.append(one.seq)
        return b""

    some = Feed(encode=encode)
    some.publish(record(1))
    picky = Selection(kinds=frozenset({"broker_down"}))
    readers = [some.subscribe(), some.subscribe(), some.subscribe(Selection(kinds=frozenset({"kv_changed"})))]
    some.subscribe(picky)
    some.publish(record(2))
    assert encoded == [2]
    first, *others = [reader.take()[0] for reader in readers]
    assert all(other is first for other in others)


def test_a_slow_subscriber_is_dropped_with_its_position_and_others_continue() -> None:
    some = feed()
    slow, quick = some.subscribe(limit=10), some.subscribe(limit=10)
    got: list[int] = []
    some.publish(record(1))
    some.publish(record(2))
    assert len(slow.take(max_bytes=1)) == 1
    for seq in range(3, 30):
        some.publish(record(seq))
        got += [message.seq for message in quick.take()]
    assert got == list(range(1, 30))
    assert slow.take() == []
    assert slow.dropped
    assert slow.resume_after == 1
    assert some.dropped == 1
    some.publish(record(30))
    assert slow.take() == []
    assert slow.resume_after == 1
    assert not quick.dropped


def test_a_subscriber_at_the_limit_is_not_dropped() -> None:
    some = feed()
    reader = some.subscribe(limit=10)
    for seq in range(1, 11):
        some.publish(record(seq))
    assert [message.seq for message in reader.take()] == list(range(1, 11))
    assert not reader.dropped


def test_bytes_per_channel_are_bounded_but_one_message_always_fits() -> None:
    some = Feed(encode=lambda _: b"x" * (3 << 20))
    reader = some.subscribe()
    some.publish(record(1))
    assert [message.seq for message in reader.take()] == [1]
    some.publish(record(2))
    some.publish(record(3))
    assert reader.take() == []
    assert reader.dropped


def test_total_bytes_are_bounded() -> None:
    some = Feed(encode=lambda _: b"x" * (1 << 20))
    readers = [some.subscribe(Selection(topics=frozenset({str(number)}))) for number in range(100)]
    readers += [some.subscribe(limit=limit) for limit in range(10, 110)]
    some.publish(record(1))
    assert some._bytes == 64 << 20
    got = [reader for reader in readers if reader.take()]
    assert (len(got), some.dropped) == (64, 36)
    assert some._bytes == 0


def test_over_the_total_the_largest_channel_loses_its_oldest_messages_first() -> None:
    some = Feed(encode=lambda _: b"x" * (1 << 20))
    slow = [some.subscribe(limit=limit) for limit in range(10, 26)]  # 16 channels of 4 MiB fill the total
    quick = some.subscribe(Selection(kinds=frozenset({"kv_changed"})))
    for seq in range(1, 20):
        some.publish(record(seq, KvChanged(namespace="n", key="k")))
        assert [message.seq for message in quick.take()] == [seq]
    assert not quick.dropped
    assert [reader.take() for reader in slow] == [[]] * 16
    assert some.dropped == 16


def test_messages_are_freed_when_all_have_read_them() -> None:
    some = feed()
    one, other = some.subscribe(), some.subscribe()
    for seq in range(1, 100):
        some.publish(record(seq))
    one.take()
    assert some._bytes > 0
    other.take()
    assert some._bytes == 0


def test_messages_are_freed_when_the_last_lagging_subscriber_closes() -> None:
    some = feed()
    one, other = some.subscribe(), some.subscribe()
    some.publish(record(1))
    one.take()
    other.close()
    assert some._bytes == 0
    assert some.readers == 1
    one.close()
    one.close()
    assert some.readers == 0


def test_a_closed_subscriber_keeps_no_messages() -> None:
    some = feed()
    with some.subscribe(), some.subscribe() as stays:
        some.publish(record(1))
        assert len(stays.take()) == 1
        some.publish(record(2))
    assert some._bytes == 0
    assert some._channels == {}


def test_a_take_is_bounded_but_returns_at_least_one_message() -> None:
    some = Feed(encode=lambda _: b"12345")
    reader = some.subscribe()
    for seq in range(1, 6):
        some.publish(record(seq))
    assert [len(reader.take(max_bytes=size)) for size in (1, 10, 14)] == [1, 2, 2]


def test_a_gap_in_the_numbers_is_reported_to_all_subscribers() -> None:
    some = feed(last_seq=7)
    picky = some.subscribe(Selection(kinds=frozenset({"broker_down"})))
    some.publish(record(10))
    assert picky.take() == [Missed(8, 9)]
    some.publish(record(11))
    assert picky.take() == []


def test_without_a_last_number_no_gap_is_reported() -> None:
    some = feed()
    reader = some.subscribe()
    some.publish(record(10))
    assert reader.take() == [Message(10, b"10")]


def test_a_record_without_a_number_does_not_change_the_position() -> None:
    some = feed(last_seq=7)
    reader = some.subscribe()
    some.publish(record(0))
    assert reader.take() == [Message(0, b"0")]
    assert (some.last_seq, reader.resume_after) == (7, 7)


def test_records_that_do_not_match_count_as_processed() -> None:
    some = feed(last_seq=7)
    reader = some.subscribe(Selection(kinds=frozenset({"broker_down"})))
    some.publish(record(8))
    assert reader.resume_after == 8
    some.publish(record(9, DOWN))
    some.publish(record(10))
    assert reader.resume_after == 7  # as far as it has been given anything
    reader.take()
    assert reader.resume_after == 10


@asynchronous
async def test_wait_ends_with_the_next_matching_record() -> None:
    some = feed()
    reader = some.subscribe(Selection(kinds=frozenset({"broker_down"})))
    waiting = asyncio.ensure_future(reader.wait(30))
    await asyncio.sleep(0)
    some.publish(record(1))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    some.publish(record(2, DOWN))
    assert await waiting
    assert await reader.wait(30)  # at once: it has not been taken


@asynchronous
async def test_wait_times_out_and_leaves_no_future() -> None:
    some = feed()
    reader = some.subscribe()
    assert not await reader.wait(0.001)
    assert not reader._channel.waiting


@asynchronous
async def test_subscribers_are_woken_in_batches() -> None:
    some = feed()
    readers = [some.subscribe() for _ in range(200)]
    waiting = [asyncio.ensure_future(reader.wait(30)) for reader in readers]
    await asyncio.sleep(0)
    some.publish(record(1))
    turns = 0
    while not all(task.done() for task in waiting):
        await asyncio.sleep(0)
        turns += 1
        assert sum(task.done() for task in waiting) <= 64 * turns
    assert turns >= 4


@asynchronous
async def test_close_wakes_all_subscribers() -> None:
    some = feed()
    readers = [some.subscribe(), some.subscribe(Selection(kinds=frozenset({"broker_down"})))]
    waiting = [asyncio.ensure_future(reader.wait(30)) for reader in readers]
    await asyncio.sleep(0)
    some.close()
    assert await asyncio.gather(*waiting) == [True, True]
    assert await readers[0].wait(30)


@pytest.mark.parametrize("watchers", [0, 1, 1000])
def test_all_subscribers_receive_all_records(watchers: int) -> None:
    some = feed()
    readers = [some.subscribe() for _ in range(watchers)]
    for seq in range(1, 51):
        some.publish(record(seq, KvChanged(namespace="n", key="k")))
    assert some.published == 50
    for reader in readers:
        assert [message.seq for message in reader.take()] == list(range(1, 51))


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_the_feed_matches_like_the_selection(event: Event) -> None:
    words = (frozenset[str](), frozenset({"a", "10.0.0.1:10911"}), frozenset({"T"}), frozenset({"U", "none"}))
    kinds = (frozenset[str](), frozenset({"broker_up", "topics_changed", "topic_deleted"}))
    selections = [
        Selection(kinds=kind, brokers=brokers, topics=topics)
        for kind, brokers, topics in itertools.product(kinds, words, words)
    ]
    some, one = feed(), record(1, event)
    readers = [(selection, some.subscribe(selection)) for selection in selections]
    some.publish(one)
    assert [bool(reader.take()) for _, reader in readers] == [selection.fits(one) for selection, _ in readers]

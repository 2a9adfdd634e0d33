"""Per-minute rollups: buckets, percentiles, bounded counters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.model import BrokerKey
from routebook.rollup import (
    HeartbeatRollup,
    LookupKey,
    LookupRollup,
    bucket_floor,
    bucket_of,
    percentile,
)

KEY = BrokerKey("C", "10.0.0.1:10911")


@pytest.mark.parametrize(
    ("value", "bucket"),
    [(0, 0), (1, 1), (31, 31), (32, 33), (33, 33), (34, 35), (63, 63), (64, 67), (30_000, 30_719), (30_720, 31_743)],
)
def test_buckets(value: int, bucket: int) -> None:
    assert bucket_of(value) == bucket


@given(st.integers(0, 2**40))
def test_a_bucket_holds_its_value_and_is_narrow(value: int) -> None:
    bucket = bucket_of(value)
    floor = bucket_floor(bucket)
    assert floor <= value <= bucket
    assert bucket_of(floor) == bucket
    assert bucket_of(bucket + 1) > bucket
    assert (bucket - floor) * 16 <= floor


@given(st.lists(st.integers(0, 10**7), min_size=1), st.floats(0, 1))
def test_percentiles_are_approximately_correct(values: list[int], share: float) -> None:
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    rank = min(len(values), max(1, -int(-share * len(values) // 1)))
    exact = sorted(values)[rank - 1]
    about = percentile(counts, share, max_value=max(values))
    assert about is not None
    assert abs(about - exact) * 32 <= exact + 32
    assert about <= max(values)


def test_percentile_of_nothing() -> None:
    assert percentile({}, 0.5) is None


def test_heartbeats_of_a_minute() -> None:
    beats = HeartbeatRollup()
    for now_ms in (60_000, 90_000, 119_500):
        beats.beat(KEY, "a", now_ms)
    assert beats.take(60_000) == [
        HeartbeatMinute(
            cluster="C",
            broker="a",
            addr="10.0.0.1:10911",
            minute_ms=60_000,
            count=3,
            gaps_ms={29_695: 1, 30_719: 1},
            max_gap_ms=30_000,
        )
    ]
    assert beats.take(120_000) == [], "a silent minute has no row"
    beats.beat(KEY, "a", 240_000)
    (row,) = beats.take(240_000)
    assert (row.count, row.max_gap_ms) == (1, 120_500), "the gap goes over the minutes between"


def test_an_outage_is_not_a_gap() -> None:
    beats = HeartbeatRollup()
    beats.beat(KEY, "a", 61_000)
    beats.forget(KEY)
    beats.beat(KEY, "a", 119_000)
    beats.forget(KEY)
    (row,) = beats.take(60_000)
    assert (row.minute_ms, row.count, row.gaps_ms) == (60_000, 2, {})
    beats.beat(KEY, "a", 9_000_000)
    (row,) = beats.take(0)
    assert (row.count, row.gaps_ms) == (1, {})


def test_brokers_that_left_are_forgotten() -> None:
    beats = HeartbeatRollup()
    beats.forget(KEY)
    beats.beat(KEY, "a", 61_000)
    beats.forget(KEY)
    assert len(beats.take(60_000)) == 1
    assert beats._beats == {}


def test_a_clock_that_goes_back_is_a_gap_of_zero() -> None:
    beats = HeartbeatRollup()
    beats.beat(KEY, "a", 5_000)
    beats.beat(KEY, "a", 1_000)
    (row,) = beats.take(0)
    assert row.gaps_ms == {0: 1}


def count(lookups: LookupRollup, topic: str, *, missed: bool, size: int) -> None:
    row = lookups.row(LookupKey(topic, "10.0.0.9", "JAVA", 513)) or lookups.others
    row[0] += 1
    row[1] += missed
    row[2] += size


def test_lookups_of_a_minute_with_others_beyond_the_bound() -> None:
    lookups = LookupRollup(max_keys=2)
    for topic, missed, size in [("T", False, 100), ("U", True, 0), ("T", False, 50), ("V", False, 7), ("W", True, 0)]:
        count(lookups, topic, missed=missed, size=size)
    known = {"client": "10.0.0.9", "language": "JAVA", "version": 513, "minute_ms": 60_000}
    assert lookups.take(60_000) == [
        LookupMinute(topic="T", count=2, bytes=150, **known),  # type: ignore[arg-type]  # a dict of mixed values
        LookupMinute(topic="U", count=1, misses=1, **known),  # type: ignore[arg-type]  # a dict of mixed values
        LookupMinute(minute_ms=60_000, count=2, misses=1, bytes=7, others=True),
    ]
    assert lookups.take(120_000) == []
    count(lookups, "V", missed=False, size=1)
    assert [row.topic for row in lookups.take(180_000)] == ["V"], "the limit applies to each minute"

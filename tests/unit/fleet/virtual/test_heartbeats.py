"""Heartbeats in closed form, compared with the rollup that counts them one by one."""

from hypothesis import given
from hypothesis import strategies as st

from routebook.fleet.virtual.heartbeats import HeartbeatSchedule, Jitter
from routebook.model import BrokerKey
from routebook.rollup import HeartbeatRollup

KEY = BrokerKey("c1", "127.0.0.1:1")
HALF_MINUTE = Jitter(5, 30_000)
SECOND = Jitter(5, 1000)


@given(
    jitter=st.sampled_from([HALF_MINUTE, SECOND]),
    base_ms=st.integers(0, 10**13),
    offset=st.integers(0, 4095),
    first=st.integers(1, 10**6),
    count=st.integers(1, 70),
)
def test_gaps_equal_those_of_the_rollup(jitter: Jitter, base_ms: int, offset: int, first: int, count: int) -> None:
    schedule = HeartbeatSchedule(jitter, base_ms=base_ms, offset=offset)
    rollup = HeartbeatRollup()
    rollup.beat(KEY, "b1", schedule.at(first - 1))
    rollup.take(0)
    for k in range(first, first + count):
        rollup.beat(KEY, "b1", schedule.at(k))
    (row,) = rollup.take(0)
    gaps = schedule.gaps(first, count)
    assert (row.count, row.gaps_ms, row.max_gap_ms) == (count, gaps.histogram, gaps.greatest)


@given(jitter=st.sampled_from([HALF_MINUTE, SECOND]), offset=st.integers(0, 4095), later_ms=st.integers(-5000, 10**8))
def test_the_first_heartbeat_from_a_time_on(jitter: Jitter, offset: int, later_ms: int) -> None:
    schedule = HeartbeatSchedule(jitter, base_ms=10**9, offset=offset)
    now_ms = 10**9 + later_ms
    k = schedule.first_from(now_ms)
    assert schedule.at(k) >= now_ms
    assert k == 0 or schedule.at(k - 1) < now_ms


def test_heartbeats_are_never_early_and_never_out_of_order() -> None:
    for jitter in (HALF_MINUTE, SECOND):
        schedule = HeartbeatSchedule(jitter, base_ms=0, offset=0)
        times = [schedule.at(k) for k in range(10_000)]
        assert times == sorted(times)
        assert all(0 <= at - k * jitter.period_ms <= jitter.period_ms // 3 for k, at in enumerate(times))
        assert max(at - k * jitter.period_ms for k, at in enumerate(times)) > jitter.period_ms // 60


def test_the_same_seed_gives_the_same_jitter() -> None:
    assert Jitter(5, 1000).late == SECOND.late
    assert Jitter(6, 1000).late != SECOND.late

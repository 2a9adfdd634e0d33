"""Recent activity: brokers that left or registered, heartbeats, look-ups, all bounded."""

import pytest

from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    DownReason,
    Event,
    HeartbeatMinute,
    LookupMinute,
    TopicCause,
    TopicsChanged,
)
from routebook.history.query.sessions import Session
from routebook.journal.record import Record
from routebook.model import BrokerKey
from routebook.rollup import percentile
from routebook.server.http.live.recent_activity import BEAT_MINUTES, LOST_MS, RecentActivity, Registered
from tests.support.operation_cost import cost_of

MINUTE = 60_000


def fed(*events: Event, at: int = 1000) -> RecentActivity:
    recent = RecentActivity(since_ms=0)
    recent.add(Record(1, "n", "b", number, at + number, event) for number, event in enumerate(events, 1))
    return recent


def up(addr: str, broker_id: int = 0) -> BrokerUp:
    return BrokerUp(cluster="c", broker="a", broker_id=broker_id, addr=addr, timeout_ms=1, acting_master=False)


def down(addr: str, broker_id: int = 0, reason: DownReason = DownReason.CLOSED) -> BrokerDown:
    return BrokerDown(cluster="c", broker="a", broker_id=broker_id, addr=addr, reason=reason)


def lost(recent: RecentActivity) -> list[str]:
    return [one.addr for one in recent.lost.values()]


def test_a_broker_that_left_is_lost_until_it_returns() -> None:
    assert lost(fed(up("x"), down("x"))) == ["x"]
    assert lost(fed(up("x"), down("x"), up("x"))) == []
    assert fed(up("x")).registered == {"a": {"x": Registered(1001, 0)}}


def test_a_replaced_broker_is_not_lost() -> None:
    assert lost(fed(up("x"), down("x", reason=DownReason.REPLACED), up("y"))) == []
    assert lost(fed(up("x"), down("x"), up("y"))) == [], "a new address with the same id"


def test_after_a_role_switch_the_old_master_is_still_lost() -> None:
    switched = BrokerChanged(
        cluster="c", broker="a", broker_id=0, before_id=1, addr="y", timeout_ms=1, acting_master=False
    )
    assert lost(fed(up("x"), up("y", 1), down("x"), switched)) == ["x"]


def test_an_old_master_that_returns_as_slave_under_another_address_is_not_lost() -> None:
    switched = BrokerChanged(
        cluster="c", broker="a", broker_id=0, before_id=1, addr="y", timeout_ms=1, acting_master=False
    )
    assert lost(fed(up("x"), up("y", 1), down("x"), switched, up("z", 1))) == []
    assert lost(fed(up("x"), up("y", 1), down("x"), up("z", 2))) == ["x"], "its id is free: another broker came"


def test_a_lost_broker_is_removed_after_a_day() -> None:
    recent = fed(up("x"), down("x"))
    recent.expire(LOST_MS)
    assert lost(recent) == ["x"]
    recent.expire(LOST_MS + 2000)
    assert lost(recent) == []


def past(addr: str, begin: int, end: int | None, ended: str | None = None, broker_id: int = 0) -> Session:
    return Session(
        broker_id=broker_id, addr=addr, cluster="c", from_ms=begin, began="broker_up", to_ms=end, ended=ended
    )


def test_history_adds_brokers_lost_before_the_start() -> None:
    recent = RecentActivity(since_ms=0)
    recent.prime(
        {
            "gone": [past("x", 1, 2, "expired")],
            "removed": [past("x", 0, 1, "expired")],
            "back": [past("x", 1, 2, "closed"), past("x", 3, None)],
            "moved": [past("x", 1, 2, "closed"), past("y", 3, None)],
            "switched": [past("x", 1, 2, "role_switch"), past("x", 2, None, broker_id=1)],
        },
        since_ms=2,
    )
    assert [one.name for one in recent.lost.values()] == ["gone"]
    assert recent.registered == {
        "back": {"x": Registered(3, 0)},
        "moved": {"y": Registered(3, 0)},
        "switched": {"x": Registered(2, 1)},
    }


def beats(minute: int, count: int = 2, gap: int = 30_000) -> HeartbeatMinute:
    return HeartbeatMinute(
        cluster="c", broker="a", addr="x", minute_ms=minute * MINUTE, count=count, gaps_ms={gap: count}, max_gap_ms=gap
    )


def test_heartbeats_per_minute() -> None:
    found = fed(beats(10), beats(11, 3, 20_000), beats(13)).beats[BrokerKey("c", "x")]
    assert found.minutes(13 * MINUTE) == [
        (10 * MINUTE, 2, 30_000),
        (11 * MINUTE, 3, 20_000),
        (13 * MINUTE, 2, 30_000),
    ]
    assert found.gaps(13 * MINUTE) == {30_000: 4, 20_000: 3}


def test_gaps_cover_the_last_three_hours_only() -> None:
    first = [beats(minute, 60, 1_007) for minute in range(1, 301)]
    then = [beats(minute, 1, 60_000) for minute in range(301, 301 + BEAT_MINUTES)]
    found = fed(*first, *then).beats[BrokerKey("c", "x")]
    now_ms = (300 + BEAT_MINUTES) * MINUTE
    assert found.gaps(now_ms) == {60_000: BEAT_MINUTES}
    assert percentile(found.gaps(now_ms), 0.5) == pytest.approx(60_000, rel=1 / 32)
    assert sum(found.gaps(now_ms + 30 * MINUTE).values()) == BEAT_MINUTES - 30  # silent since
    assert found.minutes(now_ms + 30 * MINUTE)[0] == (331 * MINUTE, 1, 60_000)
    assert found.gaps(now_ms + BEAT_MINUTES * MINUTE) == {}


def test_old_minutes_are_overwritten() -> None:
    found = fed(beats(10), beats(10 + BEAT_MINUTES, 1)).beats[BrokerKey("c", "x")]
    assert found.minutes((10 + BEAT_MINUTES) * MINUTE) == [((10 + BEAT_MINUTES) * MINUTE, 1, 30_000)]
    again = fed(beats(10), beats(10)).beats[BrokerKey("c", "x")]
    assert again.minutes(10 * MINUTE) == [(10 * MINUTE, 4, 30_000)]


def test_look_ups_of_the_last_minutes() -> None:
    recent = fed(*(LookupMinute(minute_ms=minute * MINUTE, topic="t", count=1) for minute in range(40)))
    recent.expire(40 * MINUTE)
    assert [row.minute_ms // MINUTE for row in recent.lookups] == list(range(24, 40))


def departed(number: int, reason: DownReason = DownReason.CLOSED) -> BrokerDown:
    return BrokerDown(broker=f"gone-{number}", cluster="c", broker_id=0, addr=f"gone-{number}:1", reason=reason)


def test_an_arrival_costs_the_same_after_thousands_of_departures() -> None:
    few, many = fed(departed(0)), fed(*map(departed, range(6000)))
    arrival = [Record(1, "ns", "boot", 1, 2000, up("10.0.0.1:1"))]
    assert cost_of(lambda: many.add(arrival)).opcodes <= 1.1 * cost_of(lambda: few.add(arrival)).opcodes


def test_a_departure_costs_the_same_after_thousands_of_departures() -> None:
    few, many = fed(departed(0)), fed(*map(departed, range(6000)))
    leaves = [Record(1, "ns", "boot", 1, 2000, down("10.0.0.1:1"))]
    assert cost_of(lambda: many.add(leaves)).opcodes <= 1.1 * cost_of(lambda: few.add(leaves)).opcodes


def test_what_is_kept_of_brokers_that_left_is_bounded() -> None:
    recent = RecentActivity(since_ms=0)
    for number in range(25_000):
        beat = HeartbeatMinute(
            broker="b", cluster="c", addr=f"a{number}:1", minute_ms=60_000, count=1, max_gap_ms=0, gaps_ms={}
        )
        topics = tuple(f"t{number}-{one}" for one in range(4))
        left = TopicsChanged(broker="b", cause=TopicCause.REMOVAL, removed=topics)
        recent.add([Record(1, "ns", "boot", 1, 1000, event) for event in (beat, departed(number), left)])
    assert (len(recent.beats), len(recent.lost), len(recent.lost_topics)) == (10_000, 5_000, 50_000)
    assert BrokerKey("c", "a24999:1") in recent.beats
    assert BrokerKey("c", "a0:1") not in recent.beats

"""Leadership: the monotonic clock ends it, late changes of the leader key do not."""

import asyncio
import time

import pytest

from routebook.server.controller.etcd_client import EtcdClient
from routebook.server.controller.etcd_leadership import LEADER_UNKNOWN_AFTER_S, MAX_UNRENEWED_S, Leadership, boot_time
from routebook.server.controller.etcd_messages import KeyValue, WatchEvent
from routebook.server.controller.log import LogError, Node
from tests.support.asynchronous import asynchronous

KEY = b"/p/leader"
OTHER = b'{"id":"n1","address":"h1:9878"}'


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def leadership(clock: Clock) -> Leadership:
    return Leadership(EtcdClient(["http://127.0.0.1:1"]), KEY, Node("n0", "h0:9878"), monotonic=clock)


def event(revision: int, kind: str = "PUT", value: bytes = OTHER) -> WatchEvent:
    return WatchEvent(KeyValue(KEY, value, revision, revision), kind)


@asynchronous
async def test_a_leader_that_could_not_renew_does_not_hold_the_key() -> None:
    clock = Clock()
    one = leadership(clock)
    one.term, one._renewed_at = 7, clock.now
    held = []
    for passed_s in (0.0, MAX_UNRENEWED_S - 0.01, 0.02):
        clock.now += passed_s
        held.append(one.is_held)
    assert held == [True, True, False]
    assert not await one.wait_and_renew()
    assert one.other_leader is None


@asynchronous
async def test_a_suspended_machine_does_not_lead_when_it_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suspension stops the clock of time.monotonic; etcd has given the key to another node meanwhile."""
    suspended_s, real = {time.CLOCK_BOOTTIME: 0.0}, time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + suspended_s.get(clock, 0.0))
    one = Leadership(EtcdClient(["http://127.0.0.1:1"]), KEY, Node("n0", "h0:9878"))
    one.term, one._renewed_at = 7, boot_time()
    assert one.is_held
    suspended_s[time.CLOCK_BOOTTIME] = MAX_UNRENEWED_S
    assert not one.is_held


@asynchronous
async def test_a_late_deletion_of_the_previous_key_does_not_end_the_term() -> None:
    one = leadership(Clock())
    one.term, one._renewed_at = 51, 100.0
    one.take(event(50, "DELETE", b""))
    one.take(event(51))
    held = [one.is_held]
    one.take(event(52, "DELETE", b""))
    assert [*held, one.is_held] == [True, False]


@asynchronous
async def test_another_leader_is_known_until_its_key_goes_or_etcd_is_silent() -> None:
    clock = Clock()
    one = leadership(clock)
    one.take(event(5))
    seen = [one.other_leader]
    clock.now += LEADER_UNKNOWN_AFTER_S + 0.1
    seen.append(one.other_leader)
    one.take(event(6))
    one.take(event(7, "DELETE", b""))
    assert [*seen, one.other_leader] == [Node("n1", "h1:9878"), None, None]
    async with asyncio.timeout(10):
        assert await one.wait_for_change(), "campaign at once"


@asynchronous
async def test_a_foreign_leader_key_is_named() -> None:
    with pytest.raises(LogError, match="etcd key /p/leader is not a Controller's"):
        leadership(Clock()).take(event(5, value=b"x"))

"""Counting who is there, and deciding about one more."""

from collections import defaultdict

import pytest

from routebook.server.net.limits import NAMES, Host, Limits
from routebook.settings import LimitSettings, Settings

NO_LIMITS = LimitSettings(
    connections=0,
    connections_per_address=0,
    requests_per_second=0,
    busy_ms=0,
    frame_bytes=1024,
    frame_s=0,
    first_request_s=0,
    unread_bytes=0,
    buffer_bytes=0,
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def limits(clock: Clock | None = None, *, files: int | None = None, **given: int) -> Limits:
    settings = {**{name: getattr(NO_LIMITS, name) for name in LimitSettings.__struct_fields__}, **given}
    return Limits(LimitSettings(**settings), exceeded=defaultdict(int), time=clock or Clock(), max_files=files)


def test_zero_is_no_limit() -> None:
    counting = limits()
    for number in range(5000):
        assert counting.enter(f"h{number % 3}") is not None
    assert counting.exceeded == {}


def test_so_many_from_one_address() -> None:
    counting = limits(connections_per_address=2)
    first, second = counting.enter("a"), counting.enter("a")
    assert first is not None
    assert first is second
    assert counting.enter("a") is None
    assert counting.enter("b") is not None
    assert counting.exceeded == {"connections_per_address": 1}
    counting.leave(first)
    assert counting.enter("a") is not None


def test_nothing_is_remembered_of_who_has_left() -> None:
    counting = limits(connections=10)
    for number in range(1000):
        host = counting.enter(f"h{number}")
        assert host is not None
        counting.leave(host)
    assert counting.hosts == {}
    assert counting.connections == 0


@pytest.mark.parametrize("how", [{"connections": 100}, {"files": 100}])
def test_so_many_in_all_and_brokers_still_come_in(how: dict[str, int]) -> None:
    clock = Clock()
    counting = limits(clock, **how)
    for number in range(100):
        assert counting.enter(f"h{number}") is not None
    assert counting.enter("new") is None
    counting.broker_hosts = lambda: ["broker"]
    clock.now += 2
    assert counting.enter("new") is None
    assert counting.enter("broker") is not None
    assert counting.exceeded == {"connections": 2}
    for _ in range(50):  # nor may those take everything
        counting.enter("broker")
    assert counting.connections == 116


def test_requests_of_an_address_fill_up_again() -> None:
    host = Host("h")
    assert [host.take_token(100.0, per_second=5) for _ in range(12)] == [True] * 10 + [False] * 2
    assert [host.take_token(101.0, per_second=5) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [host.take_token(1e6, per_second=5) for _ in range(12)] == [True] * 10 + [False] * 2


def test_every_limit_has_a_setting() -> None:
    """And the other way round, but for the one setting that is older than the others."""
    keys = {key.rpartition(".")[2].lower() for key in Settings.build().values if key.startswith("routebook.limits.")}
    names = {name.replace("_", "") for name in NAMES}
    assert {key.replace("busymillis", "busy") for key in keys} == names - {"inflatedbytes", "topicsperregistration"}

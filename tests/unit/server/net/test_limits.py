"""Limits on connections and requests."""

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


def limits(clock: Clock | None = None, *, files: int = 1 << 62, **given: int) -> Limits:
    settings = {**{name: getattr(NO_LIMITS, name) for name in LimitSettings.__struct_fields__}, **given}
    return Limits(LimitSettings(**settings), exceeded=defaultdict(int), time=clock or Clock(), max_files=files)


def test_zero_means_no_limit() -> None:
    limits_in_use = limits()
    for number in range(5000):
        assert limits_in_use.enter(f"h{number % 3}") is not None
    assert limits_in_use.exceeded == {}


def test_connections_per_address() -> None:
    limits_in_use = limits(connections_per_address=2)
    first, second = limits_in_use.enter("a"), limits_in_use.enter("a")
    assert first is not None
    assert first is second
    assert limits_in_use.enter("a") is None
    assert limits_in_use.enter("b") is not None
    assert limits_in_use.exceeded == {"connections_per_address": 1}
    limits_in_use.leave(first)
    assert limits_in_use.enter("a") is not None


def test_hosts_without_connections_are_forgotten() -> None:
    limits_in_use = limits(connections=10)
    for number in range(1000):
        host = limits_in_use.enter(f"h{number}")
        assert host is not None
        limits_in_use.leave(host)
    assert limits_in_use.hosts == {}
    assert limits_in_use.connections == 0


@pytest.mark.parametrize("how", [{"connections": 100}, {"files": 100}])
def test_brokers_may_use_a_reserve_beyond_the_limit(how: dict[str, int]) -> None:
    clock = Clock()
    limits_in_use = limits(clock, **how)
    for number in range(100):
        assert limits_in_use.enter(f"h{number}") is not None
    assert limits_in_use.enter("new") is None
    limits_in_use.broker_hosts = lambda: ["broker"]
    clock.now += 2
    assert limits_in_use.enter("new") is None
    assert limits_in_use.enter("broker") is not None
    assert limits_in_use.exceeded == {"connections": 2}
    for _ in range(50):  # the reserve has a limit, too
        limits_in_use.enter("broker")
    assert limits_in_use.connections == 116


def test_the_token_bucket_refills() -> None:
    host = Host("h")
    assert [host.take_token(100.0, per_second=5) for _ in range(12)] == [True] * 10 + [False] * 2
    assert [host.take_token(101.0, per_second=5) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [host.take_token(1e6, per_second=5) for _ in range(12)] == [True] * 10 + [False] * 2


def test_every_limit_has_a_setting() -> None:
    """And every setting has a limit, except two settings that are older and two limits that are constants."""
    keys = {key.rpartition(".")[2].lower() for key in Settings.build().values if key.startswith("routebook.limits.")}
    names = {name.replace("_", "") for name in NAMES}
    constants = ("loosejson", "routebytes")
    assert {key.replace("busymillis", "busy") for key in keys} == names - {
        "inflatedbytes",
        "topicsperregistration",
        *constants,
    }

"""When the server counts as overloaded."""

import math

from routebook.server.net.load_monitor import LoadMonitor


def test_busy_starts_at_the_limit_and_ends_below_half_of_it() -> None:
    changes: list[bool] = []
    load = LoadMonitor(1000, changes.append)
    for lag_s in (0.0, 0.99, 1.0, 0.7, 0.5, 0.49, 0.9):
        load.sample(lag_s, 10.0)
    assert changes == [True, False]


def test_a_request_after_a_stall_detects_the_overload_before_the_next_sample() -> None:
    changes: list[bool] = []
    load = LoadMonitor(1000, changes.append)
    load.sample(0.0, 10.0)
    assert load.late_at == 11.0
    load.check(10.9)
    assert changes == []
    load.check(11.0)
    assert changes == [True]


def test_without_a_limit_the_server_is_never_busy() -> None:
    load = LoadMonitor(0, lambda _: None)
    load.sample(1e9, 10.0)
    assert not load.is_busy
    assert load.late_at == math.inf

"""Repeated log lines are limited per key and in total."""

from routebook.server.observe.log_throttle import LogThrottle


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_one_line_per_minute_with_the_number_of_suppressed_lines() -> None:
    time = Time()
    throttle = LogThrottle(time)
    assert throttle.due("a") == 0
    assert throttle.due("a") is None
    time.now += 59
    assert throttle.due("a") is None
    assert throttle.due("b") == 0
    time.now += 1
    assert throttle.due("a") == 2
    assert throttle.due("a") is None


def test_lines_per_minute_are_bounded() -> None:
    time = Time()
    throttle = LogThrottle(time)
    results = [throttle.due(f"host-{number}") for number in range(5000)]
    assert results == [0] * 120 + [None] * 4880
    time.now += 60
    assert throttle.due("host-4999") == 0


def test_the_number_of_keys_is_bounded() -> None:
    time = Time()
    throttle = LogThrottle(time)
    for number in range(5000):
        time.now += 0.6
        assert throttle.due(f"host-{number}") == 0
    assert len(throttle._logged) <= 1024
    assert throttle.due("host-4999") is None

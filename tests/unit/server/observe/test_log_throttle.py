"""The same thing about the same host is said once a minute."""

from routebook.server.observe.log_throttle import LogThrottle


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_once_a_minute_and_then_how_often_it_was_not_said() -> None:
    time = Time()
    seldom = LogThrottle(time)
    assert seldom.due("a") == 0
    assert seldom.due("a") is None
    time.now += 59
    assert seldom.due("a") is None
    assert seldom.due("b") == 0
    time.now += 1
    assert seldom.due("a") == 2
    assert seldom.due("a") is None


def test_all_together_are_bounded_too() -> None:
    time = Time()
    seldom = LogThrottle(time)
    said = [seldom.due(f"host-{number}") for number in range(5000)]
    assert said == [0] * 120 + [None] * 4880
    time.now += 60
    assert seldom.due("host-4999") == 0


def test_the_table_is_bounded_and_forgets_the_oldest_first() -> None:
    time = Time()
    seldom = LogThrottle(time)
    for number in range(5000):
        time.now += 0.6
        assert seldom.due(f"host-{number}") == 0
    assert len(seldom._said) <= 1024
    assert seldom.due("host-4999") is None

"""How often a login may fail."""

from routebook.server.http.auth.login_throttle import Attempts


def test_so_many_fail_then_one_waits_until_the_oldest_is_a_minute_old() -> None:
    attempts = Attempts(most=3)
    for at_ms in (0, 10_000, 20_000):
        assert attempts.wait_s("10.0.0.1", at_ms) == 0
        attempts.failed("10.0.0.1", at_ms)
    assert attempts.wait_s("10.0.0.1", 20_000) == 40
    assert attempts.wait_s("10.0.0.2", 20_000) == 0
    assert attempts.wait_s("10.0.0.1", 59_999) == 1
    assert attempts.wait_s("10.0.0.1", 60_000) == 0
    attempts.failed("10.0.0.1", 60_000)
    assert attempts.wait_s("10.0.0.1", 60_000) == 10


def test_who_gets_in_begins_anew() -> None:
    attempts = Attempts(most=1)
    attempts.failed("10.0.0.1", 0)
    assert attempts.wait_s("10.0.0.1", 1) > 0
    attempts.succeeded("10.0.0.1")
    assert attempts.wait_s("10.0.0.1", 1) == 0


def test_an_ipv6_network_is_one_place() -> None:
    attempts = Attempts(most=1)
    attempts.failed("2001:db8::1", 0)
    assert attempts.wait_s("2001:db8::ffff", 1) > 0
    assert attempts.wait_s("2001:db8:0:1::1", 1) == 0
    attempts.failed("::ffff:10.0.0.1", 0)
    assert attempts.wait_s("10.0.0.1", 1) > 0


def test_many_addresses_take_bounded_memory() -> None:
    attempts = Attempts(most=1)
    for number in range(10_050):
        attempts.failed(f"10.0.{number // 256}.{number % 256}", 0)
    assert attempts.wait_s("10.0.0.0", 1) == 0
    assert attempts.wait_s("10.0.39.60", 1) > 0

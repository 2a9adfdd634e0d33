"""Rate limit for failed logins."""

from routebook.server.http.auth.login_throttle import LoginThrottle


def test_after_the_limit_an_address_waits_until_its_oldest_failure_is_a_minute_old() -> None:
    throttle = LoginThrottle(max_failures=3)
    for at_ms in (0, 10_000, 20_000):
        assert throttle.wait_s("10.0.0.1", "k", at_ms) == 0
        throttle.failed("10.0.0.1", "k", at_ms)
    assert throttle.wait_s("10.0.0.1", "k", 20_000) == 40
    assert throttle.wait_s("10.0.0.2", "k", 20_000) == 0
    assert throttle.wait_s("10.0.0.1", "k", 59_999) == 1
    assert throttle.wait_s("10.0.0.1", "k", 60_000) == 0
    throttle.failed("10.0.0.1", "k", 60_000)
    assert throttle.wait_s("10.0.0.1", "k", 60_000) == 10


def test_a_success_resets_the_count() -> None:
    throttle = LoginThrottle(max_failures=1)
    throttle.failed("10.0.0.1", "k", 0)
    assert throttle.wait_s("10.0.0.1", "k", 1) > 0
    throttle.succeeded("10.0.0.1", "k")
    assert throttle.wait_s("10.0.0.1", "k", 1) == 0


def test_failures_for_one_access_key_do_not_lock_another_one_behind_the_same_proxy() -> None:
    throttle = LoginThrottle(max_failures=1)
    for guessed in ("stranger", "root", "x" * 1000):
        throttle.failed("10.0.0.1", guessed, 0)
        assert throttle.wait_s("10.0.0.1", guessed, 1) > 0
    assert throttle.wait_s("10.0.0.1", "ops", 1) == 0


def test_an_ipv6_network_counts_as_one_address() -> None:
    throttle = LoginThrottle(max_failures=1)
    throttle.failed("2001:db8::1", "k", 0)
    assert throttle.wait_s("2001:db8::ffff", "k", 1) > 0
    assert throttle.wait_s("2001:db8:0:1::1", "k", 1) == 0
    throttle.failed("::ffff:10.0.0.1", "k", 0)
    assert throttle.wait_s("10.0.0.1", "k", 1) > 0


def test_the_number_of_counters_is_bounded() -> None:
    throttle = LoginThrottle(max_failures=1)
    for number in range(10_050):
        throttle.failed(f"10.0.{number // 256}.{number % 256}", "k", 0)
    assert throttle.wait_s("10.0.0.0", "k", 1) == 0
    assert throttle.wait_s("10.0.39.60", "k", 1) > 0

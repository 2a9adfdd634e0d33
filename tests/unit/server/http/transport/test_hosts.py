"""Which Host headers are accepted."""

import pytest

from routebook.server.http.transport.hosts import allowed_hosts, is_allowed_host

ALLOWED = allowed_hosts("127.0.0.1", "box-7", setting="mq.example.com, Other.Example.com ")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8876",
        "LOCALHOST:1",
        "localhost.",
        "127.0.0.1:8876",
        "10.1.2.3",
        "[::1]:8876",
        "[fe80::1]",
        "box-7:8876",
        "mq.example.com:8876",
        "other.example.com",
    ],
)
def test_addresses_and_names_of_this_server_are_accepted(host: str) -> None:
    assert is_allowed_host(host, ALLOWED)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8876", "localhost.evil.example", "127.0.0.1.evil.example", "[", "[]:1"]
)
def test_other_names_are_rejected(host: str) -> None:
    assert not is_allowed_host(host, ALLOWED)


def test_a_star_in_the_setting_accepts_any_name() -> None:
    assert allowed_hosts("127.0.0.1", setting="a,*") is None
    assert is_allowed_host("evil.example", None)

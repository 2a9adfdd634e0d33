"""Whose name is in the Host header."""

import pytest

from routebook.server.http.transport.hosts import is_ours, known_hosts

KNOWN = known_hosts("127.0.0.1", "box-7", more="mq.example.com, Other.Example.com ")


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
def test_ours(host: str) -> None:
    assert is_ours(host, KNOWN)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8876", "localhost.evil.example", "127.0.0.1.evil.example", "[", "[]:1"]
)
def test_not_ours(host: str) -> None:
    assert not is_ours(host, KNOWN)


def test_any_name_where_the_setting_says_so() -> None:
    assert known_hosts("127.0.0.1", more="a,*") is None
    assert is_ours("evil.example", None)

"""Which Host headers are accepted."""

import pytest

from routebook.server.http.transport.hosts import allowed_hosts, is_allowed_host, is_same_origin

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
    "host",
    [
        "",
        "evil.example",
        "evil.example:8876",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[",
        "[]:1",
        "[::1]evil.com",
        "[::1]evil.com:80",
        "[::1]:evil",
        "localhost:evil",
        "127.0.0.1:1:2",
        "[::1]:80:90",
        "::1",
    ],
)
def test_other_names_are_rejected(host: str) -> None:
    assert not is_allowed_host(host, ALLOWED)


def test_a_star_in_the_setting_accepts_any_name() -> None:
    assert allowed_hosts("127.0.0.1", setting="a,*") is None
    assert is_allowed_host("evil.example", None)


@pytest.mark.parametrize(
    ("headers", "same"),
    [
        ({"host": "localhost:8876"}, True),  # not a browser
        ({"host": "localhost:8876", "origin": "http://localhost:8876"}, True),
        ({"host": "LOCALHOST:8876", "origin": "http://localhost:8876"}, True),
        ({"host": "[::1]:8876", "origin": "http://[::1]:8876"}, True),
        ({"host": "rb.example", "origin": "https://rb.example"}, True),  # a proxy terminates TLS
        ({"host": "rb.example:443", "origin": "https://rb.example"}, True),
        ({"host": "rb.example", "origin": "http://rb.example:80"}, True),
        ({"host": "localhost:8876", "origin": "http://localhost:8877"}, False),
        ({"host": "localhost:8876", "origin": "http://evil.example"}, False),
        ({"host": "localhost:8876", "origin": "http://localhost:8876.evil.example"}, False),
        ({"host": "localhost:8876", "origin": "http://evil@localhost:8876"}, False),
        ({"host": "localhost:8876", "origin": "null"}, False),
        ({"host": "localhost:8876", "origin": ""}, False),
        ({"host": "localhost:8876", "origin": "file://"}, False),
        ({"host": "localhost:8876", "origin": "http://["}, False),
        ({"host": "localhost:8876", "origin": "localhost:8876"}, False),
        ({"host": "localhost:8876", "sec-fetch-site": "same-origin"}, True),
        ({"host": "localhost:8876", "sec-fetch-site": "none"}, True),
        ({"host": "localhost:8876", "sec-fetch-site": "same-site"}, False),
        ({"host": "localhost:8876", "sec-fetch-site": "cross-site", "origin": "http://localhost:8876"}, False),
        ({"origin": "http://localhost:8876"}, False),
    ],
)
def test_origin(headers: dict[str, str], same: bool) -> None:
    assert is_same_origin([(name.encode(), value.encode()) for name, value in headers.items()]) is same


def test_repeated_headers_are_rejected() -> None:
    page = (b"origin", b"http://localhost")
    assert not is_same_origin([(b"host", b"localhost"), page, page])
    assert not is_same_origin([(b"host", b"localhost"), (b"host", b"other"), page])

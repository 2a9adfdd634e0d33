"""Which requests count as sent by a page of this server."""

import pytest

from routebook.server.http.transport.origin import is_same_origin


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

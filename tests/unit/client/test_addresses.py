"""Address lists: the forms that Java tools accept, and invalid ones."""

import pytest

from routebook.client.addresses import Address, addresses_from_environment, parse_address, parse_addresses
from routebook.errors import UsageError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9876", "127.0.0.1", 9876),
        ("ns-1.example:1", "ns-1.example", 1),
        ("localhost", "localhost", 9876),
        ("http://10.0.0.1:80", "10.0.0.1", 80),
        ("http://10.0.0.1:80/", "10.0.0.1", 80),
        ("[::1]:9877", "::1", 9877),
        ("[fe80::1]", "fe80::1", 9876),
        ("::1:9877", "::1", 9877),
        ("::1", "::1", 9876),
        ("2001:db8:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:1", 9876),
    ],
)
def test_one_address(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":9876", "h:", "h:0", "h:65536", "h:-1", "h:x", "h:٣", "h:1:2", "[::1", "[::1]x", "[h]:1", "a/b:1", "u@h:1"],
)
def test_an_invalid_address_is_quoted_in_the_error(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(text)
    assert repr(text) in str(refused.value)


def test_lists_keep_their_order_and_each_address_once() -> None:
    expected = (Address("b", 2), Address("a", 1), Address("c", 9876))
    assert parse_addresses("b:2;a:1, c ;b:2;") == expected
    assert parse_addresses(["b:2;a:1", Address("c", 9876), "a:1"]) == expected
    assert parse_addresses(Address("b", 2)) == expected[:1]


@pytest.mark.parametrize("given", ["", " ; , ", []])
def test_an_empty_list_is_rejected(given: str | list[str]) -> None:
    with pytest.raises(UsageError, match="no NameServer address"):
        parse_addresses(given)


def test_an_address_prints_as_it_is_written() -> None:
    assert str(Address("::1", 9876)) == "[::1]:9876"
    assert parse_address(str(Address("::1", 9876))) == Address("::1", 9876)
    assert str(Address("h", 1)) == "h:1"


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert addresses_from_environment({"NAMESRV_ADDR": "a:1;b:2"}) == (Address("a", 1), Address("b", 2))
    assert addresses_from_environment({"NAMESRV_ADDR": " "}) is None
    monkeypatch.setenv("NAMESRV_ADDR", "c:3")
    assert addresses_from_environment() == (Address("c", 3),)
    monkeypatch.delenv("NAMESRV_ADDR")
    assert addresses_from_environment() is None

"""Current settings: the address of the HTTP port."""

import pytest

from routebook.errors import SettingsError
from routebook.settings import Settings, from_environment, from_values


def listen(text: str) -> tuple[str, int] | None:
    return Settings.build([from_values({"routebook.http.listen": text})]).http_listen


def test_http_listens_on_this_machine_by_default() -> None:
    settings = Settings.build()
    assert settings.http_listen == ("127.0.0.1", 8876)
    assert not settings.serves_http_publicly


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("localhost:80", ("localhost", 80)),
        ("[::1]:8876", ("::1", 8876)),
        (" off ", None),
        ("OFF", None),
    ],
)
def test_accepted_addresses(text: str, expected: tuple[str, int] | None) -> None:
    assert listen(text) == expected


@pytest.mark.parametrize(
    "text", ["", "8876", ":8876", "host", "host:", "host:65536", "::1:80", "[]:80", "host:-1", "a:٣"]
)
def test_an_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(SettingsError, match="HOST:PORT"):
        listen(text)


@pytest.mark.parametrize(
    ("text", "public"), [("0.0.0.0:1", True), ("[::]:1", True), ("mq:1", True), ("[::1]:1", False), ("off", False)]
)
def test_public_addresses_are_detected(text: str, public: bool) -> None:
    assert Settings.build([from_values({"routebook.http.listen": text})]).serves_http_publicly is public


def test_settings_from_the_environment() -> None:
    settings = Settings.build([from_environment({"ROUTEBOOK_HTTP_LISTEN": "off", "ROUTEBOOK_HTTP_WATCHERS": "5"})])
    assert settings.http_listen is None
    assert settings.http_watchers == 5

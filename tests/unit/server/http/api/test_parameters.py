"""Path and query parameters."""

from urllib.parse import quote

import pytest

from routebook.server.http.api.parameters import from_path, parse_time
from routebook.server.http.errors import ApiError


@pytest.mark.parametrize(
    "name", ["plain", "%RETRY%group", "a/b", "//a//", "..", "ü 中文", "<script>", "a?b#c&d=e", "%2F", "+", "\ud800x"]
)
def test_a_name_in_a_path_may_contain_any_character(name: str) -> None:
    assert from_path(quote(name.encode("utf-8", "surrogatepass"), safe="")) == name


def test_invalid_utf8_in_a_path_is_replaced() -> None:
    assert from_path("%ff%fe") == "\ufffd\ufffd"


def test_a_time_is_milliseconds_since_the_epoch() -> None:
    assert parse_time("2024-11-16T03:12:00Z", 0) == 1_731_726_720_000


def test_relative_times() -> None:
    assert parse_time("10m ago", 1_731_726_720_000) == 1_731_726_120_000


@pytest.mark.parametrize("text", ["soon", "1969-12-31T23:59:59Z"])
def test_an_unusable_time_is_a_400_with_a_hint(text: str) -> None:
    with pytest.raises(ApiError) as error:
        parse_time(text, 0)
    assert error.value.status == 400
    assert "2024-11-16T03:12:00Z" in error.value.problem.hint

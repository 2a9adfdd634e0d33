"""`?at=`: milliseconds, or ISO 8601 in the forms that people write."""

import pytest

from routebook.server.http.api.times import parse_time
from routebook.server.http.errors import Refusal

AT_MS = 1_731_726_720_000


@pytest.mark.parametrize(
    "text",
    [
        "1731726720000",
        "2024-11-16T03:12:00Z",
        "2024-11-16T03:12:00",
        "2024-11-16 03:12:00",
        "2024-11-16T11:12:00+08:00",
        "2024-11-16T11:12:00 08:00",  # a plus sign that nobody encoded
        "2024-11-16T03:12",
        "20241116T031200Z",
    ],
)
def test_the_same_time_in_many_forms(text: str) -> None:
    assert parse_time(text) == AT_MS


def test_milliseconds_and_days() -> None:
    assert parse_time("2024-11-16T03:12:00.123Z") == AT_MS + 123
    assert parse_time("1970-01-01") == 0


@pytest.mark.parametrize(
    "text",
    ["", "soon", "-1", "1e3", "٣", "2024-13-01", "1969-12-31T23:59:59Z", "9" * 19, "9" * 40, "0001-01-01T00:00+14:00"],
)
def test_what_is_not_a_time_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_time(text)
    assert refused.value.status == 400
    assert "2024-11-16T03:12:00Z" in refused.value.problem.hint

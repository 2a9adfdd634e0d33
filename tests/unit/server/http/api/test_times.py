"""`?at=`: a value that is not a time is answered with 400 and a hint."""

import pytest

from routebook.server.http.api.times import parse_time
from routebook.server.http.errors import Refusal


def test_a_time_is_milliseconds_since_the_epoch() -> None:
    assert parse_time("2024-11-16T03:12:00Z") == 1_731_726_720_000


@pytest.mark.parametrize("text", ["soon", "1969-12-31T23:59:59Z"])
def test_an_unusable_time_is_a_400_with_a_hint(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_time(text)
    assert refused.value.status == 400
    assert "2024-11-16T03:12:00Z" in refused.value.problem.hint

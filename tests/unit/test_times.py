"""Times: accepted forms, range, and formatting."""

import json
from datetime import date
from pathlib import Path

import pytest

from routebook.times import format_time, parse_day, parse_time

AT_MS = 1_731_726_720_000
SHARED = json.loads((Path(__file__).parents[2] / "console" / "test" / "time_cases.json").read_text())


@pytest.mark.parametrize(
    "text",
    [
        "1731726720000",
        "2024-11-16T03:12:00Z",
        "2024-11-16T03:12:00",
        "2024-11-16 03:12:00",
        "2024-11-16T11:12:00+08:00",
        "2024-11-16T11:12:00 08:00",  # an unencoded plus sign in a URL
        "2024-11-16T03:12",
        "20241116T031200Z",
    ],
)
def test_accepted_forms_of_one_time(text: str) -> None:
    assert parse_time(text) == AT_MS


def test_milliseconds_and_days() -> None:
    assert parse_time("2024-11-16T03:12:00.123Z") == AT_MS + 123
    assert parse_time("1970-01-01") == 0


@pytest.mark.parametrize("text", ["", "soon", "-1", "1e3", "٣", "2024-13-01", "0001-01-01T00:00+14:00"])
def test_other_text_is_not_a_time(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        parse_time(text)


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59Z", "9" * 19, "9" * 40])
def test_times_out_of_range_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="before 1970 or after 9999"):
        parse_time(text)


def test_days() -> None:
    assert parse_day("2026-01-31") == date(2026, 1, 31)
    with pytest.raises(ValueError, match="not a day"):
        parse_day("2026-02-31")


def test_format() -> None:
    assert format_time(1_731_700_000_123) == "2024-11-15 19:46:40.123Z"
    assert format_time(2**62) == f"{2**62} ms"


@pytest.mark.parametrize(("text", "wanted"), SHARED["cases"])
def test_forms_that_the_console_accepts_too(text: str, wanted: str | None) -> None:
    now_ms = parse_time(SHARED["now"])
    if wanted is None:
        with pytest.raises(ValueError, match="not a time"):
            parse_time(text, now_ms)
    else:
        assert parse_time(text, now_ms) == parse_time(wanted)


def test_relative_forms_need_the_current_time() -> None:
    with pytest.raises(ValueError, match="not a time"):
        parse_time("03:12")


def test_a_time_long_ago_is_the_epoch() -> None:
    assert parse_time("999999999w ago", AT_MS) == 0

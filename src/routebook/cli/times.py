"""Options that take a time or a day: parse errors become usage errors that name the option."""

import time
from datetime import date

from routebook import times
from routebook.errors import UsageError


def parse_time(text: str, option: str) -> int:
    """Return milliseconds since the epoch. Raises UsageError."""
    try:
        return times.parse_time(text, time.time_ns() // 1_000_000)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}; {times.TIME_HINT}") from None


def parse_day(text: str, option: str) -> date:
    """Return the day. Raises UsageError."""
    try:
        return times.parse_day(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def format_time_or(at_ms: int | None, absent: str) -> str:
    """Format a time, or return `absent` for None."""
    return absent if at_ms is None else times.format_time(at_ms)

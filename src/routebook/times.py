"""Times as users write and read them: ISO 8601 (UTC unless stated) or milliseconds since the epoch. Pure."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

MAX_MS: Final = 253_402_300_799_999  # the end of the year 9999
TIME_HINT: Final = "write 2024-11-16T03:12:00Z, or milliseconds since the epoch such as 1731726720000"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def parse_time(text: str) -> int:
    """Return milliseconds since the epoch. Raises ValueError whose text is a predicate: "not a time"."""
    return (parse_datetime(text) - _EPOCH) // _MILLISECOND


def parse_datetime(text: str) -> datetime:
    """Return the time in UTC with full precision. Raises ValueError as `parse_time` does."""
    if text.isascii() and text.isdigit():
        at_ms = int(text) if len(text) < 20 else MAX_MS + 1
        moment = _EPOCH + at_ms * _MILLISECOND if at_ms <= MAX_MS else None
    else:
        # In a URL an unencoded `+` of a time zone arrives as a space.
        moment = _parse_iso(text) or _parse_iso("+".join(text.rsplit(" ", 1)))
        if moment is None:
            raise ValueError("not a time")
    if moment is None or moment < _EPOCH:
        raise ValueError("before 1970 or after 9999")
    return moment


def parse_day(text: str) -> date:
    """Return the day that `2026-01-31` names. Raises ValueError as `parse_time` does."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("not a day; write 2026-01-31") from None


def format_time(at_ms: int) -> str:
    """Format in UTC with milliseconds, or as a plain number if it is outside the calendar."""
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")


def _parse_iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

"""Times as people write and read them on the command line."""

from datetime import UTC, datetime

from routebook.errors import UsageError
from routebook.journal.read.describe import describe_time


def parse_time(text: str, option: str) -> int:
    """ISO 8601, in UTC unless it says otherwise, or milliseconds since the epoch. Raises UsageError."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {text}: not a time; write 2024-11-16T03:12:00Z, or milliseconds since the epoch"
        ) from None


def show_time(at_ms: int | None, *, none: str) -> str:
    """For people; `none` where there is no time."""
    return none if at_ms is None else describe_time(at_ms)

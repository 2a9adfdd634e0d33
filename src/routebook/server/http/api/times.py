"""What `?at=` may say: milliseconds since the epoch, or ISO 8601. Pure."""

from datetime import UTC, datetime
from typing import Final

from routebook.server.http.errors import Refusal

_MOST_MS: Final = 253_402_300_799_999  # the year 9999
_HINT: Final = "write 2024-11-16T03:12:00Z, or milliseconds since the epoch such as 1731726720000"


def parse_time(text: str) -> int:
    """In ms since the epoch; a time without zone is UTC. Raises Refusal."""
    if text.isascii() and text.isdigit() and len(text) < 20:
        at_ms = int(text)
    else:
        # a `+` that nobody encoded comes as a blank
        moment = _moment(text) or _moment("+".join(text.rsplit(" ", 1)))
        if moment is None:
            raise Refusal(400, f"at={text[:100]} is not a time", _HINT)
        at_ms = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    if not 0 <= at_ms <= _MOST_MS:
        raise Refusal(400, f"at={text[:100]} is before 1970 or after 9999", _HINT)
    return at_ms


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

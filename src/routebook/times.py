"""Times as users write and read them, in UTC unless a zone is stated. Pure: relative forms need the current time.

2024-11-16T03:12:00Z   1731726720000        absolute: ISO 8601, or milliseconds since the epoch
03:12   today 03:12   yesterday 03:12   mon 03:12     the latest such time; a zone may follow: 03:12+02:00
10m ago   2 hours ago   now
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

MAX_MS: Final = 253_402_300_799_999  # the end of the year 9999
TIME_HINT: Final = "write 03:12, yesterday 03:12, 10m ago, 2024-11-16T03:12:00Z or milliseconds since the epoch"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_DAY: Final = timedelta(days=1)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO: Final = re.compile(r"(\d{1,9}) ?(s|m|h|d|w|sec|min|(?:second|minute|hour|day|week)s?) ago")
_CLOCK: Final = re.compile(r"(?:([a-z]{3,9})(?: |$))?(\d{1,2}:\d\d(?::\d\d)?)?(z| ?utc| ?[+-]\d\d:?\d\d| \d\d:\d\d)?")


def parse_time(text: str, now_ms: int | None = None) -> int:
    """Return milliseconds since the epoch. Raises ValueError whose text is a predicate: "not a time".

    Relative forms are accepted if `now_ms` is given.
    """
    if now_ms is not None:
        moment = _parse_relative(" ".join(text.lower().split()), _EPOCH + now_ms * _MILLISECOND)
        if moment is not None:
            return (moment - _EPOCH) // _MILLISECOND
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


def _parse_relative(text: str, now: datetime) -> datetime | None:
    if text == "now":
        return now
    if ago := _AGO.fullmatch(text):
        try:
            return max(now - timedelta(**{_UNITS[ago[2][0]]: int(ago[1])}), _EPOCH)
        except OverflowError:
            return _EPOCH
    found = _CLOCK.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        return None
    word, clock, zone = found[1], found[2] or "00:00", (found[3] or "").strip()
    zone = "Z" if zone in ("", "z", "utc") else f"+{zone}" if zone[0].isdigit() else zone
    moment = _parse_iso(f"{now.date().isoformat()}T{clock.zfill(8 if clock.count(':') > 1 else 5)}{zone}")
    return None if moment is None else _latest(word, moment, now)


def _latest(word: str | None, moment: datetime, now: datetime) -> datetime | None:
    """The latest time that is not after `now`, on the day that the word names."""
    match word:
        case None:
            return moment if moment <= now else moment - _DAY
        case "today":
            return moment
        case "yesterday":
            return moment - _DAY
        case _:
            days = [number for number, name in enumerate(_WEEKDAYS) if name.startswith(word)]
            if len(days) != 1:
                return None
            back = (now.weekday() - days[0]) % 7
            found = moment - back * _DAY
            return found if found <= now else found - 7 * _DAY

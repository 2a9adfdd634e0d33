"""The query parameter `?at=`: a time, or a 400 response that shows the accepted forms."""

from routebook import times
from routebook.server.http.errors import Refusal


def parse_time(text: str) -> int:
    """Return milliseconds since the epoch. Raises Refusal."""
    try:
        return times.parse_time(text)
    except ValueError as error:
        raise Refusal(400, f"at={text[:100]} is {error}", times.TIME_HINT) from None

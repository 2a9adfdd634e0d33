"""Server-sent events out of lines, after the standard. Pure."""

from typing import NamedTuple


class ServerSent(NamedTuple):
    """One event; `id` is the last that was set so far, "" if none was."""

    id: str
    event: str
    data: str


class EventLines:
    """Feed it lines; keeps the last id, also of what has no data."""

    def __init__(self) -> None:
        self._event = ""
        self._data: list[str] = []
        self.last_id = ""

    def line(self, raw: bytes) -> ServerSent | None:
        """An event, when this line ends one."""
        text = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            return self._end()
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self.last_id = value
        return None

    def cut_off(self) -> None:
        """The stream ended: what has no end is none."""
        self._event, self._data = "", []

    def _end(self) -> ServerSent | None:
        event, data = self._event or "message", self._data
        self._event, self._data = "", []
        return ServerSent(self.last_id, event, "\n".join(data)) if data else None

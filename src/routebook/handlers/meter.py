"""Counts what is too frequent to be told one by one: heartbeats by broker, look-ups by topic and client.

A look-up that came before may cost no more than a dict look-up here: who knows it keeps the rows that it is counted
into, by the host that asks, and they are taken away when the minute ends.
"""

from collections.abc import Mapping
from typing import Final

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.handlers.outcome import Caller
from routebook.model import BrokerKey
from routebook.rollup import HeartbeatRollup, LookupKey, LookupRollup, LookupRow

_MAX_TOPIC: Final = 255  # no broker has a longer one


class Meter:
    """`take` gives what was counted since the last time, as events."""

    __slots__ = ("_heartbeats", "_kept", "_lookups", "beat")

    def __init__(self, *, max_keys: int) -> None:
        self._heartbeats = HeartbeatRollup()
        self._lookups = LookupRollup(max_keys=max_keys)
        self._kept: list[dict[str, LookupRow]] = []  # by others, to be emptied when the minute ends
        self.beat = self._heartbeats.beat

    def row(self, caller: Caller, topic: str, language: str | None, version: int) -> LookupRow:
        """The row to count this caller's look-up of the topic into."""
        lookups = self._lookups
        if len(topic) > _MAX_TOPIC:
            return lookups.others
        return lookups.row(LookupKey(topic, caller.host, language or "", version)) or lookups.others

    def keep_row(
        self, rows: dict[str, LookupRow], caller: Caller, topic: str, language: str | None, version: int
    ) -> LookupRow:
        """The same, and put into these rows, until the minute ends."""
        row = self.row(caller, topic, language, version)
        if row is not self._lookups.others:
            if not rows:
                self._kept.append(rows)
            rows[caller.host] = row
        return row

    def forget(self, key: BrokerKey) -> None:
        """A broker left: its next heartbeat has no predecessor."""
        self._heartbeats.left(key)

    @property
    def lookups(self) -> Mapping[LookupKey, LookupRow]:
        """The look-ups of the running minute; to be read only."""
        return self._lookups.rows

    def take(self, minute_ms: int) -> list[HeartbeatMinute | LookupMinute]:
        """The rows of the minute that began at `minute_ms`."""
        for rows in self._kept:
            rows.clear()
        self._kept.clear()
        return [*self._heartbeats.take(minute_ms), *self._lookups.take(minute_ms)]

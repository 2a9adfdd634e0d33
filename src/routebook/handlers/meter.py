"""Counts heartbeats by broker and look-ups by topic and client, for one event per minute instead of one per request.

The fast path for repeated look-ups keeps a reference to the row that it counts into, by host, so that counting costs a
dict look-up; these references are cleared when the minute ends.
"""

from collections.abc import Mapping
from typing import Final

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.handlers.outcome import Caller
from routebook.model import BrokerKey
from routebook.rollup import HeartbeatRollup, LookupKey, LookupRollup, LookupRow

_MAX_TOPIC_LENGTH: Final = 255  # brokers accept no longer topic


class Meter:
    """`take` returns the counts since the last call, as events."""

    __slots__ = ("_heartbeats", "_kept", "_lookups", "beat")

    def __init__(self, *, max_keys: int) -> None:
        self._heartbeats = HeartbeatRollup()
        self._lookups = LookupRollup(max_keys=max_keys)
        self._kept: list[dict[str, LookupRow]] = []  # of the fast path, cleared when the minute ends
        self.beat = self._heartbeats.beat

    def row(self, caller: Caller, topic: str, language: str | None, version: int) -> LookupRow:
        """The row that counts this caller's look-ups of the topic."""
        lookups = self._lookups
        if len(topic) > _MAX_TOPIC_LENGTH:
            return lookups.others
        return lookups.row(LookupKey(topic, caller.host, language or "", version)) or lookups.others

    def keep_row(
        self, rows: dict[str, LookupRow], caller: Caller, topic: str, language: str | None, version: int
    ) -> LookupRow:
        """The same, stored in these rows until the minute ends."""
        row = self.row(caller, topic, language, version)
        if row is not self._lookups.others:
            if not rows:
                self._kept.append(rows)
            rows[caller.host] = row
        return row

    def forget(self, key: BrokerKey) -> None:
        """A broker left: its next heartbeat has no predecessor."""
        self._heartbeats.forget(key)

    @property
    def lookups(self) -> Mapping[LookupKey, LookupRow]:
        """The look-ups of the current minute; read-only."""
        return self._lookups.rows

    def take(self, minute_ms: int) -> list[HeartbeatMinute | LookupMinute]:
        """The events of the minute that began at `minute_ms`."""
        for rows in self._kept:
            rows.clear()
        self._kept.clear()
        return [*self._heartbeats.take(minute_ms), *self._lookups.take(minute_ms)]

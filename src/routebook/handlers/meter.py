"""Counts what is too frequent to be told one by one: heartbeats by broker, look-ups by topic and client.

A look-up may cost no more than a dict look-up here, so every caller keeps the rows it counts into by topic, and forgets
them when the minute ends. What else it says about itself is taken from the first request of the minute.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from routebook.events import BrokerDown, Event, HeartbeatMinute, LookupMinute
from routebook.handlers.outcome import Caller
from routebook.model import BrokerKey
from routebook.rollup import HeartbeatRollup, LookupKey, LookupRollup, LookupRow

_MAX_TOPIC: Final = 255  # no broker has a longer one


class Meter:
    """`take` gives what was counted since the last time, as events."""

    __slots__ = ("_counting", "_heartbeats", "_lookups", "beat")

    def __init__(self, *, max_keys: int) -> None:
        self._heartbeats = HeartbeatRollup()
        self._lookups = LookupRollup(max_keys=max_keys)
        self._counting: list[dict[str, LookupRow]] = []  # of callers, to be emptied when the minute ends
        self.beat = self._heartbeats.beat

    def row(self, caller: Caller, topic: str, language: str | None, version: int) -> LookupRow:
        """The row to count this caller's look-ups of the topic into."""
        row = None
        if len(topic) <= _MAX_TOPIC:
            host = caller.address.rpartition(":")[0].strip("[]")  # ports change with every connection and tell nothing
            row = self._lookups.row(LookupKey(topic, host, language or "", version))
        if row is None:
            return self._lookups.others
        if not caller.asked:
            self._counting.append(caller.asked)
        caller.asked[topic] = row
        return row

    def happened(self, events: Iterable[Event]) -> None:
        """Brokers that left: their next heartbeat follows no earlier one."""
        for event in events:
            if type(event) is BrokerDown:
                self._heartbeats.left(BrokerKey(event.cluster, event.addr))

    @property
    def lookups(self) -> Mapping[LookupKey, LookupRow]:
        """The look-ups of the running minute; to be read only."""
        return self._lookups.rows

    def take(self, minute_ms: int) -> list[HeartbeatMinute | LookupMinute]:
        """The rows of the minute that began at `minute_ms`."""
        for asked in self._counting:
            asked.clear()
        self._counting.clear()
        return [*self._heartbeats.take(minute_ms), *self._lookups.take(minute_ms)]

"""Per-minute rollups of frequent events: log-bucket histograms of heartbeats and bounded counters of look-ups.

A bucket is named by its largest value. Values up to 31 have a bucket each; above, each power of two is divided into
16 buckets, so that a bucket is at most 1/16 as wide as its values:

    0 1 2 … 31 | 33 35 37 … 63 | 67 71 … 127 | … | 30719 31743 32767 | …
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.model import BrokerKey

_MAX_PENDING: Final = 256
_LEADING_BITS: Final = 5  # of a value, which determine its bucket


def bucket_of(value: int) -> int:
    """The bucket of a value (not negative), named by its largest value."""
    shift = value.bit_length() - _LEADING_BITS
    if shift <= 0:
        return value
    return (((value >> shift) + 1) << shift) - 1


def bucket_floor(bucket: int) -> int:
    """The smallest value of a bucket."""
    shift = bucket.bit_length() - _LEADING_BITS
    return bucket if shift <= 0 else bucket >> shift << shift


def percentile(counts: Mapping[int, int], share: float, *, max_value: int | None = None) -> int | None:
    """The percentile for `share` (0 to 1), with an error of at most 1/32: the middle of its bucket. None if empty.

    `max_value` is the largest value, if known.
    """
    total = sum(counts.values())
    if not total:
        return None
    rank = max(1, -int(-share * total // 1))
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0:
            middle = (bucket_floor(bucket) + bucket) // 2
            return middle if max_value is None else min(middle, max_value)
    return max_value if max_value is not None else max(counts)


class _Heartbeats:
    """One broker's heartbeats in the current minute, and the time of the last one; None after the broker left."""

    __slots__ = ("broker", "count", "gaps_ms", "last_ms", "max_gap_ms", "pending_ms")

    def __init__(self, broker: str, now_ms: int) -> None:
        self.broker = broker
        self.last_ms: int | None = now_ms
        self.pending_ms: list[int] = []  # gaps that are not in the histogram yet: keeps `beat` cheap
        self.clear(count=1)

    def clear(self, *, count: int = 0) -> None:
        self.count = count
        self.max_gap_ms = 0
        self.gaps_ms: dict[int, int] = {}

    def add_pending(self) -> None:
        for gap in self.pending_ms:
            gap = max(0, gap)
            bucket = bucket_of(gap)
            self.gaps_ms[bucket] = self.gaps_ms.get(bucket, 0) + 1
            self.max_gap_ms = max(self.max_gap_ms, gap)
        self.pending_ms.clear()


class HeartbeatRollup:
    """Counts heartbeats per broker; `take` returns the rows of the minute and starts the next one."""

    __slots__ = ("_beats",)

    def __init__(self) -> None:
        self._beats: dict[BrokerKey, _Heartbeats] = {}

    def beat(self, key: BrokerKey, broker: str, now_ms: int) -> None:
        """Count a registration or a heartbeat."""
        beats = self._beats.get(key)
        if beats is None:
            self._beats[key] = _Heartbeats(broker, now_ms)
            return
        last_ms = beats.last_ms
        if last_ms is not None:
            beats.pending_ms.append(now_ms - last_ms)
        else:
            beats.broker = broker
        beats.count += 1
        beats.last_ms = now_ms
        if beats.count % _MAX_PENDING == 0:
            beats.add_pending()

    def forget(self, key: BrokerKey) -> None:
        """A broker left: the time until it returns is an outage, not a gap."""
        beats = self._beats.get(key)
        if beats is not None:
            beats.last_ms = None

    def take(self, minute_ms: int) -> list[HeartbeatMinute]:
        """One row per broker with heartbeats in the minute that began at `minute_ms`."""
        rows = []
        for key, beats in list(self._beats.items()):
            if beats.count:
                beats.add_pending()
                rows.append(_heartbeat_row(key, beats, minute_ms))
                beats.clear()
            if beats.last_ms is None:
                del self._beats[key]
        return rows


def _heartbeat_row(key: BrokerKey, beats: _Heartbeats, minute_ms: int) -> HeartbeatMinute:
    return HeartbeatMinute(
        cluster=key.cluster,
        broker=beats.broker,
        addr=key.addr,
        minute_ms=minute_ms,
        count=beats.count,
        gaps_ms=dict(sorted(beats.gaps_ms.items())),
        max_gap_ms=beats.max_gap_ms,
    )


class LookupKey(NamedTuple):
    """A topic and the client that looks it up."""

    topic: str
    client: str
    language: str
    version: int


LookupRow: TypeAlias = list[int]
"""Number of look-ups, number of misses, and bytes of the answers."""


class LookupRollup:
    """Counts look-ups per key, for at most `max_keys` keys per minute; all others are counted as one."""

    __slots__ = ("_max_keys", "_rows", "others")

    def __init__(self, *, max_keys: int) -> None:
        self._max_keys = max_keys
        self._rows: dict[LookupKey, LookupRow] = {}
        self.others: LookupRow = [0, 0, 0]

    def row(self, key: LookupKey) -> LookupRow | None:
        """The row that counts the look-ups of a key until the next `take`; None if there are too many keys."""
        row = self._rows.get(key)
        if row is None and len(self._rows) < self._max_keys:
            row = self._rows[key] = [0, 0, 0]
        return row

    @property
    def rows(self) -> Mapping[LookupKey, LookupRow]:
        """The counts since the last `take`; read-only."""
        return self._rows

    def take(self, minute_ms: int) -> list[LookupMinute]:
        """Return the rows of the minute that began at `minute_ms`, the others last, and start the next minute."""
        rows = [
            LookupMinute(minute_ms=minute_ms, **key._asdict(), count=count, misses=misses, bytes=size)
            for key, (count, misses, size) in self._rows.items()
            if count
        ]
        count, misses, size = self.others
        if count:
            rows.append(LookupMinute(minute_ms=minute_ms, count=count, misses=misses, bytes=size, others=True))
        self._rows = {}
        self.others = [0, 0, 0]
        return rows

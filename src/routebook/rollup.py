"""What is too frequent to journal one by one, summed up by the minute: log-bucket histograms and bounded counters.

A bucket is named by the greatest value that falls into it. Up to 31 every value has its own; above, each power of
two is cut into 16, so that a bucket is never wider than 1/16 of its values:

    0 1 2 … 31 | 33 35 37 … 63 | 67 71 … 127 | … | 30719 31743 32767 | …
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.model import BrokerKey

_SHARE_BITS: Final = 5  # a bucket keeps so many leading bits of a value


def bucket_of(value: int) -> int:
    """The greatest value of the bucket that `value` (not negative) falls into."""
    shift = value.bit_length() - _SHARE_BITS
    if shift <= 0:
        return value
    return (((value >> shift) + 1) << shift) - 1


def bucket_floor(bucket: int) -> int:
    """The least value of a bucket."""
    shift = bucket.bit_length() - _SHARE_BITS
    return bucket if shift <= 0 else bucket >> shift << shift


def percentile(counts: Mapping[int, int], share: float, *, greatest: int | None = None) -> int | None:
    """About the value that `share` (0 to 1) of all values do not exceed; None if there are none.

    The middle of its bucket: wrong by 1/32 at most. `greatest` is the greatest value seen, where that is known.
    """
    total = sum(counts.values())
    if not total:
        return None
    rank = max(1, -int(-share * total // 1))
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0:
            middle = (bucket_floor(bucket) + bucket) // 2
            return middle if greatest is None else min(middle, greatest)
    return greatest if greatest is not None else max(counts)


def merged(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    """Two histograms as one."""
    sums = dict(one)
    for bucket, count in other.items():
        sums[bucket] = sums.get(bucket, 0) + count
    return sums


class _Beats:
    """One broker's signs of life within the running minute, and when the last one came."""

    __slots__ = ("broker", "count", "gaps_ms", "last_ms", "max_gap_ms")

    def __init__(self, broker: str, now_ms: int) -> None:
        self.broker = broker
        self.last_ms = now_ms
        self.clear(count=1)

    def clear(self, *, count: int = 0) -> None:
        self.count = count
        self.max_gap_ms = 0
        self.gaps_ms: dict[int, int] = {}


class HeartbeatRollup:
    """Counts signs of life per broker; `take` gives the minute's rows and begins the next."""

    __slots__ = ("_beats",)

    def __init__(self) -> None:
        self._beats: dict[BrokerKey, _Beats] = {}

    def beat(self, key: BrokerKey, broker: str, now_ms: int) -> None:
        """A registration or a heartbeat came."""
        beats = self._beats.get(key)
        if beats is None:
            self._beats[key] = _Beats(broker, now_ms)
            return
        gap = max(0, now_ms - beats.last_ms)
        bucket = bucket_of(gap)
        beats.gaps_ms[bucket] = beats.gaps_ms.get(bucket, 0) + 1
        beats.max_gap_ms = max(beats.max_gap_ms, gap)
        beats.count += 1
        beats.last_ms = now_ms
        beats.broker = broker

    def forget(self, key: BrokerKey) -> HeartbeatMinute | None:
        """The broker is gone: the time until it comes back is an outage, not a gap. Gives what it had this minute."""
        beats = self._beats.pop(key, None)
        return _heartbeat_row(key, beats, beats.last_ms // 60_000 * 60_000) if beats and beats.count else None

    def take(self, minute_ms: int) -> list[HeartbeatMinute]:
        """A row for each broker that was heard of in the minute that began at `minute_ms`."""
        rows = []
        for key, beats in self._beats.items():
            if beats.count:
                rows.append(_heartbeat_row(key, beats, minute_ms))
                beats.clear()
        return rows


def _heartbeat_row(key: BrokerKey, beats: _Beats, minute_ms: int) -> HeartbeatMinute:
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
    """Who asked for what."""

    topic: str
    client: str
    language: str
    version: int


class LookupRollup:
    """Counts look-ups per key, for `max_keys` distinct keys a minute; what comes beyond is summed as others."""

    __slots__ = ("_max_keys", "_others", "_rows")

    def __init__(self, *, max_keys: int) -> None:
        self._max_keys = max_keys
        self._rows: dict[LookupKey, list[int]] = {}
        self._others = [0, 0, 0]

    def count(self, key: LookupKey, *, missed: bool, size: int) -> None:
        """A route was asked for, and answered with `size` bytes or not found."""
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) < self._max_keys:
                row = self._rows[key] = [0, 0, 0]
            else:
                row = self._others
        row[0] += 1
        row[1] += missed
        row[2] += size

    def take(self, minute_ms: int) -> list[LookupMinute]:
        """The rows of the minute that began at `minute_ms`, the others last; and begin the next."""
        rows = [
            LookupMinute(minute_ms=minute_ms, **key._asdict(), count=count, misses=misses, bytes=size)
            for key, (count, misses, size) in self._rows.items()
        ]
        count, misses, size = self._others
        if count:
            rows.append(LookupMinute(minute_ms=minute_ms, count=count, misses=misses, bytes=size, others=True))
        self._rows = {}
        self._others = [0, 0, 0]
        return rows

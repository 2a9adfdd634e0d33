"""What is too frequent to journal one by one, summed up by the minute: log-bucket histograms and bounded counters.

A bucket is named by the greatest value that falls into it. Up to 31 every value has its own; above, each power of
two is cut into 16, so that a bucket is never wider than 1/16 of its values:

    0 1 2 … 31 | 33 35 37 … 63 | 67 71 … 127 | … | 30719 31743 32767 | …
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.model import BrokerKey

_MOST_FRESH: Final = 256
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


class _Beats:
    """One broker's signs of life within the running minute, and when the last one came; None: it has left since."""

    __slots__ = ("broker", "count", "fresh_ms", "gaps_ms", "last_ms", "max_gap_ms")

    def __init__(self, broker: str, now_ms: int) -> None:
        self.broker = broker
        self.last_ms: int | None = now_ms
        self.fresh_ms: list[int] = []  # gaps that are not in the histogram yet: a beat has no time for that
        self.clear(count=1)

    def clear(self, *, count: int = 0) -> None:
        self.count = count
        self.max_gap_ms = 0
        self.gaps_ms: dict[int, int] = {}

    def sort_in(self) -> None:
        for gap in self.fresh_ms:
            gap = max(0, gap)
            bucket = bucket_of(gap)
            self.gaps_ms[bucket] = self.gaps_ms.get(bucket, 0) + 1
            self.max_gap_ms = max(self.max_gap_ms, gap)
        self.fresh_ms.clear()


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
        last_ms = beats.last_ms
        if last_ms is not None:
            beats.fresh_ms.append(now_ms - last_ms)
        else:
            beats.broker = broker
        beats.count += 1
        beats.last_ms = now_ms
        if beats.count % _MOST_FRESH == 0:
            beats.sort_in()

    def left(self, key: BrokerKey) -> None:
        """The broker is gone: the time until it comes back is an outage, not a gap."""
        beats = self._beats.get(key)
        if beats is not None:
            beats.last_ms = None

    def take(self, minute_ms: int) -> list[HeartbeatMinute]:
        """A row for each broker that was heard of in the minute that began at `minute_ms`."""
        rows = []
        for key, beats in list(self._beats.items()):
            if beats.count:
                beats.sort_in()
                rows.append(_heartbeat_row(key, beats, minute_ms))
                beats.clear()
            if beats.last_ms is None:
                del self._beats[key]
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


LookupRow: TypeAlias = list[int]
"""How many look-ups, how many of them found nothing, and how many bytes the others were answered with."""


class LookupRollup:
    """Counts look-ups per key, for `max_keys` distinct keys a minute; what comes beyond is summed as others."""

    __slots__ = ("_max_keys", "_rows", "others")

    def __init__(self, *, max_keys: int) -> None:
        self._max_keys = max_keys
        self._rows: dict[LookupKey, LookupRow] = {}
        self.others: LookupRow = [0, 0, 0]

    def row(self, key: LookupKey) -> LookupRow | None:
        """Where to count the look-ups of a key until the next `take`; None if the minute has its fill of keys."""
        row = self._rows.get(key)
        if row is None and len(self._rows) < self._max_keys:
            row = self._rows[key] = [0, 0, 0]
        return row

    @property
    def rows(self) -> Mapping[LookupKey, LookupRow]:
        """What was counted since the last `take`; to be read only."""
        return self._rows

    def take(self, minute_ms: int) -> list[LookupMinute]:
        """The rows of the minute that began at `minute_ms`, the others last; and begin the next."""
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

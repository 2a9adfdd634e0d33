"""Arrival times of a broker's regular heartbeats, and their minute rollups, in closed form. Pure.

Arrival k is `base + k * period + jitter[k]`, with the jitter from a table drawn once. So any arrival, and the last one
before any time, is computed without iterating over earlier ones, and equal table ranges give equal rollups.
"""

from typing import Final, NamedTuple

from routebook.fleet.randomness import random_stream
from routebook.rollup import bucket_of

_TABLE: Final = 4096  # a power of two
_MASK: Final = _TABLE - 1
_MEAN_MS: Final = 8.0  # network and scheduling
_PAUSE_ONE_IN: Final = 400  # a pause of garbage collection or disk
_PAUSE_MS: Final = 1500


class Gaps(NamedTuple):
    """The gaps between heartbeats that ended in one minute."""

    histogram: dict[int, int]
    greatest: int


class Jitter:
    """The delay of each arrival: one table for all brokers, each with its own offset."""

    def __init__(self, seed: int, period_ms: int) -> None:
        rng = random_stream(seed, "jitter")
        max_late = period_ms // 3
        late = []
        for _ in range(_TABLE):
            pause = rng.random() * _PAUSE_MS if rng.randrange(_PAUSE_ONE_IN) == 0 else 0.0
            late.append(min(max_late, int(rng.expovariate(1 / _MEAN_MS) + pause)))
        self.late = late
        self.period_ms = period_ms
        self._gaps = [period_ms + late[k] - late[k - 1] for k in range(_TABLE)]  # late[-1] is the table's last
        self._rows: dict[tuple[int, int], Gaps] = {}

    def gaps(self, first: int, count: int) -> Gaps:
        """Return the gaps of `count` arrivals from `first` on, equal to those of HeartbeatRollup."""
        key = (first & _MASK, count)
        row = self._rows.get(key)
        if row is None:
            gaps = [self._gaps[(first + k) & _MASK] for k in range(count)]
            histogram: dict[int, int] = {}
            for gap in gaps:
                bucket = bucket_of(gap)
                histogram[bucket] = histogram.get(bucket, 0) + 1
            row = self._rows[key] = Gaps(dict(sorted(histogram.items())), max(gaps))
        return row


class HeartbeatSchedule:
    """The regular heartbeats of one broker at one NameServer, from `base_ms` on."""

    __slots__ = ("_late", "_offset", "_period_ms", "base_ms", "jitter")

    def __init__(self, jitter: Jitter, *, base_ms: int, offset: int) -> None:
        self.jitter = jitter
        self.base_ms = base_ms
        self._late = jitter.late
        self._period_ms = jitter.period_ms
        self._offset = offset

    def at(self, k: int) -> int:
        """Return the time of arrival `k`."""
        return self.base_ms + k * self._period_ms + self._late[(k + self._offset) & _MASK]

    def first_from(self, now_ms: int) -> int:
        """Return the number of the first arrival at `now_ms` or later."""
        k = max(0, (now_ms - self.base_ms) // self._period_ms - 1)
        while self.at(k) < now_ms:
            k += 1
        return k

    def gaps(self, first: int, count: int) -> Gaps:
        """Return the gaps of `count` arrivals from `first` on, if the one before was regular."""
        return self.jitter.gaps(first + self._offset, count)

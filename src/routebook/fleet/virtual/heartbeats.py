"""When a broker's regular signs of life arrive, and the minute rows they come to, in closed form. Pure.

Arrival k is `base + k * period + jitter[k]`, the jitter from a table that is drawn once: so any arrival, and the last
one before any time, is found without going through those before it, and equal stretches of the table give equal rows.
"""

from typing import Final, NamedTuple

from routebook.fleet.randomness import chance
from routebook.rollup import bucket_of

_TABLE: Final = 4096  # a power of two
_MASK: Final = _TABLE - 1
_MEAN_MS: Final = 8.0  # network and scheduling
_PAUSE_ONE_IN: Final = 400  # garbage collection, a busy disk
_PAUSE_MS: Final = 1500


class Gaps(NamedTuple):
    """The gaps that ended in one minute."""

    histogram: dict[int, int]
    greatest: int


class Jitter:
    """How late each arrival is; one table for all brokers, who begin at different places of it."""

    def __init__(self, seed: int, period_ms: int) -> None:
        draw = chance(seed, "jitter")
        most = period_ms // 3
        late = []
        for _ in range(_TABLE):
            pause = draw.random() * _PAUSE_MS if draw.randrange(_PAUSE_ONE_IN) == 0 else 0.0
            late.append(min(most, int(draw.expovariate(1 / _MEAN_MS) + pause)))
        self.late = late
        self.period_ms = period_ms
        self._gaps = [period_ms + late[k] - late[k - 1] for k in range(_TABLE)]  # late[-1] is the table's last
        self._rows: dict[tuple[int, int], Gaps] = {}

    def gaps(self, first: int, count: int) -> Gaps:
        """Of `count` arrivals from number `first` on; what HeartbeatRollup would make of them."""
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


class Rhythm:
    """The regular arrivals of one broker at one NameServer, from `base_ms` on."""

    __slots__ = ("_late", "_offset", "_period_ms", "base_ms", "jitter")

    def __init__(self, jitter: Jitter, *, base_ms: int, offset: int) -> None:
        self.jitter = jitter
        self.base_ms = base_ms
        self._late = jitter.late
        self._period_ms = jitter.period_ms
        self._offset = offset

    def at(self, k: int) -> int:
        """When arrival `k` comes."""
        return self.base_ms + k * self._period_ms + self._late[(k + self._offset) & _MASK]

    def first_from(self, now_ms: int) -> int:
        """The number of the first arrival at `now_ms` or later."""
        k = max(0, (now_ms - self.base_ms) // self._period_ms - 1)
        while self.at(k) < now_ms:
            k += 1
        return k

    def gaps(self, first: int, count: int) -> Gaps:
        """Of `count` arrivals from number `first` on, if the one before it came as it should."""
        return self.jitter.gaps(first + self._offset, count)

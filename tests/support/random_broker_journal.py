"""Random journals of two NameServers about brokers, with everything that makes event time difficult.

Brokers register, fail, stop, are replaced and recovered, and records of them are lost; NameServers stop, crash, and
start warm and cold; clocks are set back and forward; the last minute of a day is journalled on the next.
"""

from random import Random
from typing import Any

from tests.support.random_journal import MINUTE_MS, RandomNameServer

_TERMS: dict[str, Any] = {"timeout_ms": 120_000, "acting_master": False}
_REASONS = ("closed", "expired", "idle", "unregistered", "deregistered", "replaced")


def random_broker_journal(seed: int) -> list[str]:
    """The lines of one NameServer and then of the other."""
    draw = Random(seed)
    return [line for number in (1, 2) for line in _NameServer(seed, number, draw).run(draw.randint(15, 30))]


class _NameServer(RandomNameServer):
    def __init__(self, seed: int, number: int, draw: Random) -> None:
        super().__init__(seed, number, draw)
        self.seq = draw.choice([0, 40])
        self._ids: dict[str, int] = {}

    def run(self, steps: int) -> list[str]:
        if self.draw.random() < 0.8:
            self.start()
        else:  # older segments were removed
            self.boot += 1
        for _ in range(steps):
            self.now_ms += self.draw.choice([1, 5_000, 20_000, MINUTE_MS, 25 * MINUTE_MS])
            self._step()
        return self.lines

    def clear(self) -> None:
        self._ids.clear()

    def recovered(self) -> int:
        return len(self._ids)

    def _step(self) -> None:
        addr = self.draw.choice(["a:1", "a:2", "b:1"])
        match self.draw.randrange(12):
            case 0 | 1 | 2 if addr not in self._ids:
                self._ids[addr] = self.draw.randrange(2)
                self._member("broker_up", addr, **_TERMS)
            case 3 | 4 if addr in self._ids:
                self._member("broker_down", addr, reason=self.draw.choice(_REASONS))
                del self._ids[addr]
            case 5 if addr in self._ids:
                before = self._ids[addr]
                self._ids[addr] = 1 - before
                self._member("broker_changed", addr, before_id=before, **_TERMS)
            case 6:
                self._ids.setdefault(addr, 0)  # a record is lost, or the broker was recovered
                self._member("broker_returned", addr)
            case 7:
                self.restart()
            case 8:
                self.now_ms += self.draw.choice([-60, 60, 26 * 60]) * MINUTE_MS
                self._heartbeats(addr)
            case 9:
                self.seq += self.draw.randrange(4)  # numbers can be missing
                self._flap(addr)
            case _:
                self._heartbeats(addr)

    def _flap(self, addr: str) -> None:
        for _ in range(3):
            for kind, more in (("broker_up", _TERMS), ("broker_down", {"reason": "closed"})):
                self.now_ms += 7_000
                self._ids.setdefault(addr, 0)
                self._member(kind, addr, **more)
        del self._ids[addr]

    def _heartbeats(self, addr: str) -> None:
        gaps = {str(self.draw.choice([30_719, 40_959, 20])): self.draw.randint(1, 3)}
        self.write(
            "heartbeat_minute",
            cluster=f"{self.prefix}C",
            broker=addr[0],
            addr=addr,
            minute_ms=self.last_minute_ms(),
            count=self.draw.randint(1, 4),
            gaps_ms=gaps,
            max_gap_ms=max(map(int, gaps)),
        )

    def _member(self, kind: str, addr: str, **fields: Any) -> None:
        cluster = f"{self.prefix}C"
        self.write(kind, cluster=cluster, broker=addr[0], broker_id=self._ids[addr], addr=addr, **fields)

"""A made-up journal of two NameServers, by a number: all that is hard about time happens in it now and then.

Brokers come and go, are stopped, replaced, recovered and lost; NameServers stop, crash, start warm and cold; clocks are
set back and forth; minutes before midnight are told after it.
"""

import json
from random import Random
from typing import Any

_START_MS = 1_767_300_000_000  # 2026-01-01T20:40
_MINUTE_MS = 60_000
_TERMS: dict[str, Any] = {"timeout_ms": 120_000, "acting_master": False}
_REASONS = ("closed", "expired", "idle", "unregistered", "deregistered", "replaced")


def story(number: int) -> list[str]:
    """Its lines: of one NameServer and then of the other. Names bear the number, so that many can be in one lake."""
    draw = Random(number)
    names = (f"{number}|ns-1", f"{number}|ns-2")
    return [line for ns in names for line in _NameServer(ns, f"{number}|C", draw).live(draw.randint(15, 30))]


class _NameServer:
    def __init__(self, ns: str, cluster: str, draw: Random) -> None:
        self._ns = ns
        self._cluster = cluster
        self._draw = draw
        self._now_ms = _START_MS
        self._seq = draw.choice([0, 40])
        self._boot = 0
        self._ids: dict[str, int] = {}
        self._lines: list[str] = []

    def live(self, steps: int) -> list[str]:
        """So many things happen."""
        if self._draw.random() < 0.8:  # else older segments are gone
            self._start()
        else:
            self._boot += 1
        for _ in range(steps):
            self._now_ms += self._draw.choice([1, 5_000, 20_000, _MINUTE_MS, 25 * _MINUTE_MS])
            self._step()
        return self._lines

    def _step(self) -> None:
        addr = self._draw.choice(["a:1", "a:2", "b:1"])
        match self._draw.randrange(12):
            case 0 | 1 | 2 if addr not in self._ids:
                self._ids[addr] = self._draw.randrange(2)
                self._member("broker_up", addr, **_TERMS)
            case 3 | 4 if addr in self._ids:
                self._member("broker_down", addr, reason=self._draw.choice(_REASONS))
                del self._ids[addr]
            case 5 if addr in self._ids:
                before = self._ids[addr]
                self._ids[addr] = 1 - before
                self._member("broker_changed", addr, before_id=before, **_TERMS)
            case 6:
                self._ids.setdefault(addr, 0)  # a record is lost, or it was recovered
                self._member("broker_returned", addr)
            case 7:
                if self._draw.random() < 0.6:
                    self._tell("server_stopped", reason="SIGTERM")
                self._now_ms += self._draw.choice([10_000, 90 * _MINUTE_MS])
                self._start()
            case 8:
                self._now_ms += self._draw.choice([-60, 60, 26 * 60]) * _MINUTE_MS
                self._minute(addr)
            case 9:
                self._seq += self._draw.randrange(4)  # numbers may be passed over
                self._flap(addr)
            case _:
                self._minute(addr)

    def _start(self) -> None:
        self._boot += 1
        is_cold = self._draw.random() < 0.3
        if is_cold:
            self._ids.clear()
        self._tell("server_started", version="1", listen="h:1", recovered=len(self._ids), cold=is_cold)

    def _flap(self, addr: str) -> None:
        for _ in range(3):
            for kind, more in (("broker_up", _TERMS), ("broker_down", {"reason": "closed"})):
                self._now_ms += 7_000
                self._ids.setdefault(addr, 0)
                self._member(kind, addr, **more)
        del self._ids[addr]

    def _minute(self, addr: str) -> None:
        minute_ms = self._now_ms // _MINUTE_MS * _MINUTE_MS - _MINUTE_MS
        gaps = {str(self._draw.choice([30_719, 40_959, 20])): self._draw.randint(1, 3)}
        self._tell(
            "heartbeat_minute",
            cluster=self._cluster,
            broker=addr[0],
            addr=addr,
            minute_ms=minute_ms,
            count=self._draw.randint(1, 4),
            gaps_ms=gaps,
            max_gap_ms=max(map(int, gaps)),
        )

    def _member(self, kind: str, addr: str, **fields: Any) -> None:
        self._tell(kind, cluster=self._cluster, broker=addr[0], broker_id=self._ids[addr], addr=addr, **fields)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._seq += 1
        event = {
            "v": 1,
            "ns": self._ns,
            "boot": f"{self._ns}-{self._boot}",
            "seq": self._seq,
            "at": self._now_ms,
            "kind": kind,
        }
        self._lines.append(json.dumps(event | fields))

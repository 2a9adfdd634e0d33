"""A NameServer that writes a random journal; subclasses decide which events can occur."""

import json
from random import Random
from typing import Any

MINUTE_MS = 60_000
_START_MS = 1_767_300_000_000  # 2026-01-01T20:40


class RandomNameServer:
    """Writes journal lines in memory. Names contain the seed, so that many journals fit in one lake."""

    def __init__(self, seed: int, number: int, draw: Random) -> None:
        self.prefix = f"{seed}|"
        self.ns = f"{seed}|ns-{number}"
        self.draw = draw
        self.now_ms = _START_MS
        self.seq = 0
        self.boot = 0
        self.lines: list[str] = []

    def write(self, kind: str, **fields: Any) -> None:
        self.seq += 1
        boot = f"{self.ns}-{self.boot}"
        event = {"v": 1, "ns": self.ns, "boot": boot, "seq": self.seq, "at": self.now_ms, "kind": kind}
        self.lines.append(json.dumps(event | fields))

    def restart(self) -> None:
        """A clean stop or a crash, and a warm or cold start after a short or long pause."""
        if self.draw.random() < 0.6:
            self.write("server_stopped", reason="SIGTERM")
        self.now_ms += self.draw.choice([10_000, 90 * MINUTE_MS])
        self.start()

    def start(self) -> None:
        self.boot += 1
        is_cold = self.draw.random() < 0.3
        if is_cold:
            self.clear()
        self.write("server_started", version="1", listen="h:1", recovered=self.recovered(), cold=is_cold)

    def clear(self) -> None:
        """Forget all brokers: a cold start."""
        raise NotImplementedError

    def recovered(self) -> int:
        """The number of brokers that a warm start recovers."""
        raise NotImplementedError

    def last_minute_ms(self) -> int:
        return self.now_ms // MINUTE_MS * MINUTE_MS - MINUTE_MS

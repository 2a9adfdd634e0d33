"""A made-up journal of two NameServers, by a number: all that happens to routes happens in it now and then.

Brokers come with topics and go with them, a record of it is lost, topics are added, changed, removed and deleted,
writes are wiped and restored; NameServers stop, crash, start warm and cold; clocks are set; clients ask. What the two
tell has little to do with each other, so they differ often.
"""

import json
from random import Random
from typing import Any

_START_MS = 1_767_300_000_000  # 2026-01-01T20:40
_MINUTE_MS = 60_000
_PAUSES_MS = (0, 1, 5_000, 40_000, 2 * _MINUTE_MS, 3 * _MINUTE_MS, 25 * _MINUTE_MS)
_TOPICS = ("orders", "bills", "mail")
_SHAPES = ([6, 8, 8, 0], [4, 8, 8, 0], [7, 4, 4, 0], [6, 1, 2, 0])
_REASONS = ("closed", "expired", "unregistered", "deregistered")


def route_story(number: int) -> list[str]:
    """Its lines: of one NameServer and then of the other. Names bear the number, so that many can be in one lake."""
    draw = Random(number)
    return [line for k in (1, 2) for line in _NameServer(number, k, draw).live(draw.randint(12, 30))]


class _NameServer:
    def __init__(self, number: int, k: int, draw: Random) -> None:
        self._mark = f"{number}|"
        self._ns = f"{number}|ns-{k}"
        self._draw = draw
        self._now_ms = _START_MS
        self._seq = 0
        self._boot = 0
        self._members: dict[str, dict[str, int]] = {}
        self._topics: dict[str, dict[str, list[int]]] = {}
        self._lines: list[str] = []

    def live(self, steps: int) -> list[str]:
        """So many things happen."""
        self._start()
        for _ in range(steps):
            self._now_ms += self._draw.choice(_PAUSES_MS)
            self._step(self._mark + self._draw.choice("ab"))
        return self._lines

    def _step(self, broker: str) -> None:
        members = self._members.get(broker, {})
        match self._draw.randrange(12):
            case 0 | 1 | 2 if len(members) < 2:
                self._come(broker)
            case 3 | 4 if members:
                self._go(broker, self._draw.choice(sorted(members)))
            case 5 | 6 if members:
                self._change_topics(broker)
            case 7 if members:
                self._switch_writes(broker)
            case 8:
                self._delete(self._draw.choice(_TOPICS))
            case 9 if self._draw.random() < 0.5:
                self._restart()
            case 10 if self._draw.random() < 0.3:
                self._now_ms += self._draw.choice([-60, -3, 60, 26 * 60]) * _MINUTE_MS
            case _:
                self._ask(self._draw.choice(_TOPICS))

    def _come(self, broker: str) -> None:
        members = self._members.setdefault(broker, {})
        number = 1 if 0 in members.values() else 0
        addr = f"{broker}:{number + 1}"
        members[addr] = number
        self._member("broker_up", broker, addr, timeout_ms=120_000, acting_master=False)
        if broker not in self._topics:
            named = self._draw.sample(_TOPICS, self._draw.randint(1, 3))
            self._topics[broker] = {topic: self._draw.choice(_SHAPES) for topic in named}
            self._tell("topics_changed", broker=broker, cause="registration", added=self._topics[broker])

    def _go(self, broker: str, addr: str) -> None:
        members = self._members[broker]
        self._member("broker_down", broker, addr, reason=self._draw.choice(_REASONS))
        del members[addr]
        if not members:
            del self._members[broker]
            topics = self._topics.pop(broker, {})
            if topics and self._draw.random() < 0.9:  # else a crash has swallowed it
                self._tell("topics_changed", broker=broker, cause="removal", removed=list(topics))

    def _change_topics(self, broker: str) -> None:
        topics = self._topics.setdefault(broker, {})
        topic, shape = self._draw.choice(_TOPICS), self._draw.choice(_SHAPES)
        cause = self._draw.choice(["registration", "register_topic"])
        if topic not in topics:
            self._tell("topics_changed", broker=broker, cause=cause, added={topic: shape})
            topics[topic] = shape
        elif self._draw.random() < 0.5:
            self._tell("topics_changed", broker=broker, cause="registration", removed=[topic])
            del topics[topic]
        elif shape != topics[topic]:
            self._tell("topics_changed", broker=broker, cause=cause, changed={topic: [topics[topic], shape]})
            topics[topic] = shape

    def _switch_writes(self, broker: str) -> None:
        is_wipe = self._draw.random() < 0.5
        topics = self._topics.get(broker, {})
        for topic, (perm, *rest) in topics.items():
            topics[topic] = [perm & ~2 if is_wipe else 6, *rest]
        kind = "permission_wiped" if is_wipe else "permission_restored"
        self._tell(kind, broker=broker, topics=len(topics), peer="10.0.0.1:1", code=205)

    def _delete(self, topic: str) -> None:
        brokers = [broker for broker, topics in self._topics.items() if topics.pop(topic, None)]
        if brokers:
            self._tell("topic_deleted", topic=topic, brokers=brokers)

    def _restart(self) -> None:
        if self._draw.random() < 0.6:
            self._tell("server_stopped", reason="SIGTERM")
        self._now_ms += self._draw.choice([10_000, 90 * _MINUTE_MS])
        self._start()

    def _start(self) -> None:
        self._boot += 1
        is_cold = self._draw.random() < 0.3
        if is_cold:
            self._members.clear()
            self._topics.clear()
        known = sum(map(len, self._members.values()))
        self._tell("server_started", version="1", listen="h:1", recovered=known, cold=is_cold)

    def _ask(self, topic: str) -> None:
        minute_ms = self._now_ms // _MINUTE_MS * _MINUTE_MS - _MINUTE_MS
        self._tell("lookup_minute", minute_ms=minute_ms, topic=topic, client="c", count=self._draw.randint(1, 9))

    def _member(self, kind: str, broker: str, addr: str, **fields: Any) -> None:
        self._tell(kind, cluster="C", broker=broker, broker_id=self._members[broker][addr], addr=addr, **fields)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._seq += 1
        event = {"v": 1, "ns": self._ns, "boot": f"b{self._boot}", "seq": self._seq, "at": self._now_ms, "kind": kind}
        self._lines.append(json.dumps(event | fields))

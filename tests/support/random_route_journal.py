"""Random journals of two NameServers about routes.

Brokers register with topics and fail, and a record of it can be lost; topics are added, changed, removed and deleted;
write permissions are wiped and restored; NameServers stop, crash, and start warm and cold; clocks are set; clients
look up routes. The two journals are independent, so the NameServers often differ.
"""

from random import Random
from typing import Any

from tests.support.random_journal import MINUTE_MS, RandomNameServer

_PAUSES_MS = (0, 1, 5_000, 40_000, 2 * MINUTE_MS, 3 * MINUTE_MS, 25 * MINUTE_MS)
_TOPICS = ("orders", "bills", "mail")
_SHAPES = ([6, 8, 8, 0], [4, 8, 8, 0], [7, 4, 4, 0], [6, 1, 2, 0])
_REASONS = ("closed", "expired", "unregistered", "deregistered")


def random_route_journal(seed: int) -> list[str]:
    """The lines of one NameServer and then of the other."""
    draw = Random(seed)
    return [line for number in (1, 2) for line in _NameServer(seed, number, draw).run(draw.randint(12, 30))]


class _NameServer(RandomNameServer):
    def __init__(self, seed: int, number: int, draw: Random) -> None:
        super().__init__(seed, number, draw)
        self._members: dict[str, dict[str, int]] = {}
        self._topics: dict[str, dict[str, list[int]]] = {}

    def run(self, steps: int) -> list[str]:
        self.start()
        for _ in range(steps):
            self.now_ms += self.draw.choice(_PAUSES_MS)
            self._step(self.prefix + self.draw.choice("ab"))
        return self.lines

    def clear(self) -> None:
        self._members.clear()
        self._topics.clear()

    def recovered(self) -> int:
        return sum(map(len, self._members.values()))

    def _step(self, broker: str) -> None:
        members = self._members.get(broker, {})
        match self.draw.randrange(12):
            case 0 | 1 | 2 if len(members) < 2:
                self._register(broker)
            case 3 | 4 if members:
                self._fail(broker, self.draw.choice(sorted(members)))
            case 5 | 6 if members:
                self._change_topics(broker)
            case 7 if members:
                self._switch_writes(broker)
            case 8:
                self._delete(self.draw.choice(_TOPICS))
            case 9 if self.draw.random() < 0.5:
                self.restart()
            case 10 if self.draw.random() < 0.3:
                self.now_ms += self.draw.choice([-60, -3, 60, 26 * 60]) * MINUTE_MS
            case _:
                self._look_up(self.draw.choice(_TOPICS))

    def _register(self, broker: str) -> None:
        members = self._members.setdefault(broker, {})
        number = 1 if 0 in members.values() else 0
        addr = f"{broker}:{number + 1}"
        members[addr] = number
        self._member("broker_up", broker, addr, timeout_ms=120_000, acting_master=False)
        if broker not in self._topics:
            named = self.draw.sample(_TOPICS, self.draw.randint(1, 3))
            self._topics[broker] = {topic: self.draw.choice(_SHAPES) for topic in named}
            self.write("topics_changed", broker=broker, cause="registration", added=self._topics[broker])

    def _fail(self, broker: str, addr: str) -> None:
        members = self._members[broker]
        self._member("broker_down", broker, addr, reason=self.draw.choice(_REASONS))
        del members[addr]
        if not members:
            del self._members[broker]
            topics = self._topics.pop(broker, {})
            if topics and self.draw.random() < 0.9:  # else the record is lost in a crash
                self.write("topics_changed", broker=broker, cause="removal", removed=list(topics))

    def _change_topics(self, broker: str) -> None:
        topics = self._topics.setdefault(broker, {})
        topic, shape = self.draw.choice(_TOPICS), self.draw.choice(_SHAPES)
        cause = self.draw.choice(["registration", "register_topic"])
        if topic not in topics:
            self.write("topics_changed", broker=broker, cause=cause, added={topic: shape})
            topics[topic] = shape
        elif self.draw.random() < 0.5:
            self.write("topics_changed", broker=broker, cause="registration", removed=[topic])
            del topics[topic]
        elif shape != topics[topic]:
            self.write("topics_changed", broker=broker, cause=cause, changed={topic: [topics[topic], shape]})
            topics[topic] = shape

    def _switch_writes(self, broker: str) -> None:
        is_wipe = self.draw.random() < 0.5
        topics = self._topics.get(broker, {})
        for topic, (perm, *rest) in topics.items():
            topics[topic] = [perm & ~2 if is_wipe else 6, *rest]
        kind = "permission_wiped" if is_wipe else "permission_restored"
        self.write(kind, broker=broker, topics=len(topics), peer="10.0.0.1:1", code=205)

    def _delete(self, topic: str) -> None:
        brokers = [broker for broker, topics in self._topics.items() if topics.pop(topic, None)]
        if brokers:
            self.write("topic_deleted", topic=topic, brokers=brokers)

    def _look_up(self, topic: str) -> None:
        count = self.draw.randint(1, 9)
        self.write("lookup_minute", minute_ms=self.last_minute_ms(), topic=topic, client="c", count=count)

    def _member(self, kind: str, broker: str, addr: str, **fields: Any) -> None:
        self.write(kind, cluster="C", broker=broker, broker_id=self._members[broker][addr], addr=addr, **fields)

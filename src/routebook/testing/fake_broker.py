"""A fake broker for tests: it registers and stays registered like a real one, but stores no messages.

It connects to every NameServer, registers its topics and the system topics at once, after 10 s and every 30 s,
registers new topics and unregisters at shutdown. It accepts connections and answers client heartbeats (34), client
unregistration (35) and 905. All other requests, such as sending messages, receive code 3 unless the test provides an
answer.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Final, Self

from routebook.client.addresses import Addresses, parse_addresses
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.live.broker import LiveBroker
from routebook.fleet.live.broker_port import Answer, BrokerPort
from routebook.fleet.live.connection import LiveConnection, TrafficCounters
from routebook.fleet.live.time_scale import TimeScale
from routebook.fleet.population import Member
from routebook.fleet.randomness import random_stream
from routebook.fleet.scenario import BrokerTerms
from routebook.model import TopicConfig
from routebook.testing.loop_thread import LoopThread
from routebook.wire.command import Command

_HOST: Final = "127.0.0.1"
_QUEUES: Final = 4


class FakeBroker:
    """A fake broker, registered when the constructor returns. Methods may be called from any thread."""

    def __init__(
        self,
        name: str = "broker-a",
        *,
        nameservers: Addresses,
        topics: Mapping[str, int] | Iterable[str] = (),
        cluster: str = "DefaultCluster",
        broker_id: int = 0,
        answers: Mapping[int, Answer] | None = None,
    ) -> None:
        """`topics` are names (4 queues each) or a mapping to the number of queues; `answers` are by request code."""
        self.name = name
        self.cluster = cluster
        self.broker_id = broker_id
        self._thread = LoopThread(f"fake-broker {name}")
        self._port = BrokerPort(answers=answers)
        self._stopped = False
        try:
            self._thread.run(self._port.start(_HOST))
            self.port = self._port.port
            self.address = f"{_HOST}:{self.port}"
            self._broker = self._thread.call(lambda: self._create(nameservers, _configs(topics)))
            self._thread.run(self._broker.start())
        except BaseException:  # cleanup only: re-raised
            self._thread.close()
            raise

    def add_topic(self, topic: str, queues: int = _QUEUES) -> None:
        """Create a topic, or change its queues; all NameServers have it when this returns."""
        broker = self._broker

        async def add() -> None:
            broker.requests.put_topics(_configs({topic: queues}), broker.now_ms())
            await broker.announce([topic])

        self._thread.run(add())

    @property
    def received(self) -> list[Command]:
        """Requests from clients, the newest last."""
        return self._thread.call(lambda: list(self._port.received))

    @property
    def connections(self) -> int:
        """Number of connected clients."""
        return self._thread.call(lambda: self._port.connections)

    def stop(self) -> None:
        """Unregister and stop; a second call does nothing."""
        if not self._stopped:
            self._stopped = True
            self._thread.run(self._broker.stop(linger=False))
            self._end()

    def crash(self) -> None:
        """Close all connections without unregistering, like a crash."""
        if not self._stopped:
            self._stopped = True
            self._thread.call(self._broker.crash)
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _create(self, nameservers: Addresses, topics: list[TopicConfig]) -> LiveBroker:
        terms, time_scale, traffic = BrokerTerms(), TimeScale(), TrafficCounters()
        member = Member(
            number=0, cluster=self.cluster, broker=self.name, broker_id=self.broker_id, host=_HOST, zone=None
        )
        ha_addr, now_ms = f"{_HOST}:{self.port + 1}", time.time_ns() // 1_000_000
        requests = BrokerRequests(member, terms, topics, now_ms=now_ms, addr=self.address, ha_addr=ha_addr)
        connections = [
            LiveConnection(address, time_scale=time_scale, traffic=traffic) for address in parse_addresses(nameservers)
        ]
        rng = random_stream(self.port, self.name)
        return LiveBroker(requests, terms, connections, time_scale=time_scale, rng=rng, port=self._port)

    def _end(self) -> None:
        self._thread.run(self._broker.close())
        self._thread.close()


def _configs(topics: Mapping[str, int] | Iterable[str]) -> list[TopicConfig]:
    numbers = dict(topics) if isinstance(topics, Mapping) else dict.fromkeys(topics, _QUEUES)
    return [
        TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues)
        for name, queues in numbers.items()
    ]

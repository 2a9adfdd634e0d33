"""Which brokers are alive: heartbeats (904) per broker, kept by each controller node for itself."""

from collections.abc import Container
from typing import Final, NamedTuple

import msgspec

DEFAULT_TIMEOUT_MS: Final = 10_000
LOWEST_PRIORITY: Final = 2**31 - 1


class BrokerId(NamedTuple):
    """The identity of a broker in the live table. Java: BrokerIdentityInfo."""

    cluster: str | None
    broker: str | None
    broker_id: int


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """One 904, with Java's defaults for what a broker leaves out."""

    broker: BrokerId
    address: str | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    epoch: int = -1
    max_offset: int = -1
    confirm_offset: int = -1
    priority: int = LOWEST_PRIORITY


class Progress(NamedTuple):
    """What an election compares: a higher epoch, then a higher offset, then a lower priority number."""

    epoch: int = -1
    max_offset: int = -1
    priority: int = LOWEST_PRIORITY

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.epoch, self.max_offset, -self.priority


class Expired(NamedTuple):
    """A broker whose timeout has passed, its connection, and when its last heartbeat arrived."""

    broker: BrokerId
    connection: int
    last_ms: int


class _Live(msgspec.Struct):
    last_ms: int
    timeout_ms: int
    connection: int
    address: str | None
    epoch: int
    max_offset: int
    confirm_offset: int
    priority: int


class LiveTable:
    """Heartbeats by broker. A broker is alive until its timeout has passed since its last heartbeat."""

    def __init__(self) -> None:
        self._live: dict[BrokerId, _Live] = {}
        self._by_connection: dict[int, set[BrokerId]] = {}

    def __len__(self) -> int:
        return len(self._live)

    def heartbeat(self, beat: Heartbeat, *, connection: int, now_ms: int) -> None:
        """Record a heartbeat. Epoch and offsets only move forward; the newest connection represents the broker."""
        known = self._live.get(beat.broker)
        if known is None:
            self._live[beat.broker] = _Live(
                now_ms,
                beat.timeout_ms,
                connection,
                beat.address,
                beat.epoch,
                beat.max_offset,
                beat.confirm_offset,
                beat.priority,
            )
            self._by_connection.setdefault(connection, set()).add(beat.broker)
            return
        known.last_ms, known.timeout_ms, known.priority = now_ms, beat.timeout_ms, beat.priority
        known.address = beat.address or known.address
        if (beat.epoch, beat.max_offset) > (known.epoch, known.max_offset):
            known.epoch, known.max_offset, known.confirm_offset = beat.epoch, beat.max_offset, beat.confirm_offset
        if known.connection != connection:  # Java keeps the first one, and takes its close for the broker's death
            self._forget(known.connection, beat.broker)
            known.connection = connection
            self._by_connection.setdefault(connection, set()).add(beat.broker)

    def connection_lost(self, connection: int) -> list[BrokerId]:
        """Remove the brokers whose newest heartbeat came over this connection, and return them."""
        gone = sorted(self._by_connection.pop(connection, ()), key=_order)
        for broker in gone:
            del self._live[broker]
        return gone

    def expire(self, now_ms: int) -> list[Expired]:
        """Remove the brokers whose timeout has passed, and return them."""
        gone = [
            Expired(broker, live.connection, live.last_ms)
            for broker, live in self._live.items()
            if not _is_alive(live, now_ms)
        ]
        for broker, connection, _ in gone:
            del self._live[broker]
            self._forget(connection, broker)
        return sorted(gone, key=lambda row: _order(row.broker))

    def last_ms(self, broker: BrokerId) -> int | None:
        """When the last heartbeat of a broker arrived; None: it is not in the table."""
        live = self._live.get(broker)
        return None if live is None else live.last_ms

    def extend(self, by_ms: int) -> None:
        """Do not count a time in which this node could not receive heartbeats."""
        for live in self._live.values():
            live.last_ms += by_ms

    @property
    def connections(self) -> Container[int]:
        """The connections of live brokers."""
        return self._by_connection

    def is_alive(self, cluster: str | None, broker: str, broker_id: int, *, now_ms: int) -> bool:
        live = self._live.get(BrokerId(cluster, broker, broker_id))
        return live is not None and _is_alive(live, now_ms)

    def progress(self, cluster: str | None, broker: str, broker_id: int) -> Progress:
        live = self._live.get(BrokerId(cluster, broker, broker_id))
        return Progress() if live is None else Progress(live.epoch, live.max_offset, live.priority)

    def _forget(self, connection: int, broker: BrokerId) -> None:
        brokers = self._by_connection.get(connection)
        if brokers is not None:
            brokers.discard(broker)
            if not brokers:
                del self._by_connection[connection]


class LiveView(NamedTuple):
    """The live table at one moment: what a decision sees."""

    table: LiveTable
    now_ms: int

    def is_alive(self, cluster: str | None, broker: str, broker_id: int) -> bool:
        return self.table.is_alive(cluster, broker, broker_id, now_ms=self.now_ms)

    def progress(self, cluster: str | None, broker: str, broker_id: int) -> Progress:
        return self.table.progress(cluster, broker, broker_id)


def _is_alive(live: _Live, now_ms: int) -> bool:
    return live.last_ms + live.timeout_ms >= now_ms


def _order(broker: BrokerId) -> tuple[str, str, int]:
    return broker.cluster or "", broker.broker or "", broker.broker_id

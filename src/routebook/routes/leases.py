"""Who is alive, how new what we know of it is, and the cheap way to stay alive: the same registration again."""

from collections.abc import Collection
from typing import NamedTuple

from routebook.model import BrokerKey, DataVersion
from routebook.routes.state import Tables


def renew(tables: Tables, key: BrokerKey, *, broker: str, since: int, connection: int, now_ms: int) -> bool:
    """Refresh the lease of a broker that repeats its registration, if its group is unchanged since that revision.

    Then registering again would change nothing. False: the broker has to be registered.
    """
    lease = tables.lease_table.get(key)
    seat = None if lease is None else lease.seats.get(broker)
    if lease is None or seat is None or seat.connection is None or tables.group_table[broker].touched != since:
        return False
    if seat.connection != connection:
        tables.seat(key, broker=broker, broker_id=seat.broker_id, connection=connection)
    lease.last_update_ms = now_ms
    return True


def heartbeat(tables: Tables, key: BrokerKey, now_ms: int) -> bool:
    """904, and 322 on the way: the broker is alive. False if nobody knows it."""
    lease = tables.lease_table.get(key)
    if lease is None:
        return False
    lease.last_update_ms = now_ms
    return True


def has_lease(tables: Tables, key: BrokerKey) -> bool:
    """Whether a broker is registered under this key."""
    return key in tables.lease_table


def data_version(tables: Tables, key: BrokerKey) -> DataVersion | None:
    """What the broker said last; None if it is unknown, or said null (`has_lease` tells which)."""
    lease = tables.lease_table.get(key)
    return None if lease is None else lease.data_version


def is_changed(tables: Tables, key: BrokerKey, version: DataVersion | None) -> bool:
    """Whether a broker with this version has something new to say. Java: isBrokerTopicConfigChanged."""
    lease = tables.lease_table.get(key)
    return lease is None or lease.doubtful or lease.data_version is None or lease.data_version != version


def is_awaited(tables: Tables, key: BrokerKey) -> bool:
    """Whether the broker is served though no connection of it has registered: it should, version or not."""
    lease = tables.lease_table.get(key)
    return lease is not None and any(seat.connection is None for seat in lease.seats.values())


class Silence(NamedTuple):
    """Who of those that registered has not been heard of. Those that are still awaited do not count."""

    known: int
    overdue: dict[BrokerKey, None]  # silent for their whole timeout, or for all of it but the last stretch


def silence(tables: Tables, now_ms: int, *, stretch_ms: int, also: Collection[BrokerKey] = ()) -> Silence:
    """Who runs out within `stretch_ms`, if nothing is heard of it; of a short timeout, half of it. `also` counts."""
    known = 0
    overdue: dict[BrokerKey, None] = {}
    for key, lease in tables.lease_table.items():
        if key not in also and any(seat.connection is None for seat in lease.seats.values()):
            continue
        known += 1
        due_ms = max(lease.timeout_ms - stretch_ms, lease.timeout_ms // 2)
        if lease.last_update_ms + due_ms < now_ms:
            overdue[key] = None
    return Silence(known, overdue)


def run_out(tables: Tables, now_ms: int) -> list[BrokerKey]:
    """Who has been silent for longer than its timeout, but for those that are still awaited."""
    return [
        key
        for key, lease in tables.lease_table.items()
        if lease.last_update_ms + lease.timeout_ms < now_ms and not is_awaited(tables, key)
    ]


def brokers_of(tables: Tables, connection: int) -> list[BrokerKey]:
    """Whose lease hangs on this connection."""
    return [
        key
        for key, broker in tables.registered_over.get(connection, ())
        if (lease := tables.lease_table.get(key)) is not None
        and (seat := lease.seats.get(broker)) is not None
        and seat.connection == connection
    ]

"""Leases of brokers: renewal, heartbeats, data versions, and which leases are overdue or expired."""

from collections.abc import Collection
from typing import NamedTuple

from routebook.model import BrokerKey, DataVersion
from routebook.routes.state import Tables


def renew(tables: Tables, key: BrokerKey, *, broker: str, since: int, connection: int, now_ms: int) -> bool:
    """Refresh the lease of a broker that repeats its registration, if its group is unchanged since that revision.

    Then registering again would change nothing. False: the broker has to be registered.
    """
    lease = tables.lease_table.get(key)
    membership = None if lease is None else lease.memberships.get(broker)
    if lease is None or membership is None or membership.connection is None:
        return False
    if tables.group_table[broker].revision != since:
        return False
    if membership.connection != connection:
        tables.add_member(key, broker=broker, broker_id=membership.broker_id, connection=connection)
    lease.last_update_ms = now_ms
    return True


def heartbeat(tables: Tables, key: BrokerKey, now_ms: int) -> bool:
    """904, and part of 322: refresh the lease. False if the broker is unknown."""
    lease = tables.lease_table.get(key)
    if lease is None:
        return False
    lease.last_update_ms = now_ms
    return True


def has_lease(tables: Tables, key: BrokerKey) -> bool:
    """Whether a broker is registered under this key."""
    return key in tables.lease_table


def data_version(tables: Tables, key: BrokerKey) -> DataVersion | None:
    """The version in the broker's last registration; None if the broker is unknown or sent null (see `has_lease`)."""
    lease = tables.lease_table.get(key)
    return None if lease is None else lease.data_version


def is_changed(tables: Tables, key: BrokerKey, version: DataVersion | None) -> bool:
    """Whether this version differs from the stored one. Java: isBrokerTopicConfigChanged."""
    lease = tables.lease_table.get(key)
    return lease is None or lease.is_uncertain or lease.data_version is None or lease.data_version != version


def is_disconnected(tables: Tables, key: BrokerKey) -> bool:
    """Whether the broker is served without a connection: it has to register again, whatever its version."""
    lease = tables.lease_table.get(key)
    return lease is not None and any(membership.connection is None for membership in lease.memberships.values())


class Overdue(NamedTuple):
    """The brokers that have a connection, and which of them are expired or about to expire."""

    known: dict[BrokerKey, None]
    keys: dict[BrokerKey, None]


def overdue(tables: Tables, now_ms: int, *, window_ms: int, also: Collection[BrokerKey] = ()) -> Overdue:
    """The leases that expire within `window_ms` (at most half of their timeout) without a heartbeat.

    Brokers without a connection do not count, except for those in `also`.
    """
    known: dict[BrokerKey, None] = {}
    keys: dict[BrokerKey, None] = {}
    for key, lease in tables.lease_table.items():
        if key not in also and is_disconnected(tables, key):
            continue
        known[key] = None
        due_ms = max(lease.timeout_ms - window_ms, lease.timeout_ms // 2)
        if lease.last_update_ms + due_ms < now_ms:
            keys[key] = None
    return Overdue(known, keys)


def expired_leases(tables: Tables, now_ms: int) -> list[BrokerKey]:
    """The leases without a heartbeat for longer than their timeout, except for brokers without a connection."""
    return [
        key
        for key, lease in tables.lease_table.items()
        if lease.last_update_ms + lease.timeout_ms < now_ms and not is_disconnected(tables, key)
    ]


def brokers_of(tables: Tables, connection: int) -> list[BrokerKey]:
    """The brokers whose current registration was sent over this connection."""
    return [
        key
        for key, broker in tables.registered_over.get(connection, ())
        if (lease := tables.lease_table.get(key)) is not None
        and (membership := lease.memberships.get(broker)) is not None
        and membership.connection == connection
    ]

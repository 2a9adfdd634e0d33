"""Adds a registering broker to its group, its cluster and its lease."""

from msgspec.structs import asdict

from routebook.codes import DEFAULT_HEARTBEAT_TIMEOUT_MS
from routebook.events import BrokerChanged, BrokerDown, BrokerReturned, BrokerUp, DownReason
from routebook.model import Registration
from routebook.routes.removal import leave_group
from routebook.routes.state import Lease, Tables


def remove_replaced(tables: Tables, registration: Registration) -> list[BrokerDown]:
    """Remove the members that a registration replaces: another address with its id, or itself in another cluster.

    Java: removes their addresses, but keeps their leases, filter servers and old cluster (B3).
    """
    group = tables.group_table.get(registration.broker)
    if group is None:
        return []
    replaced = []
    holder = group.members.get(registration.broker_id)
    if holder is not None and holder != registration.key:
        replaced.append(holder)
    itself = group.member_at(registration.addr)
    if itself is not None and itself not in (registration.key, holder):
        replaced.append(itself)
    return [leave_group(tables, key, registration.broker, DownReason.REPLACED) for key in replaced]


def join_group(
    tables: Tables, registration: Registration, *, connection: int, now_ms: int
) -> list[BrokerUp | BrokerChanged | BrokerReturned]:
    """Add or update the member, refresh its lease and set the group's flags; returns events for what changed."""
    key, broker, body = registration.key, registration.broker, registration.body
    lease = tables.lease_table.get(key)
    before = None if lease is None else lease.memberships.get(broker)
    lease = tables.add_member(key, broker=broker, broker_id=registration.broker_id, connection=connection)
    up = BrokerUp(
        cluster=key.cluster,
        broker=broker,
        broker_id=registration.broker_id,
        addr=key.addr,
        ha_addr=registration.ha_addr,
        timeout_ms=DEFAULT_HEARTBEAT_TIMEOUT_MS if registration.timeout_ms is None else registration.timeout_ms,
        acting_master=bool(registration.acting_master),
        zone=registration.zone,
        data_version=body.data_version,
        filter_servers=lease.filter_servers if body.filter_servers is None else body.filter_servers,
    )
    is_changed = apply_state(tables, lease, up)
    lease.last_update_ms = now_ms
    if before is None:
        return [up]
    events: list[BrokerUp | BrokerChanged | BrokerReturned] = []
    if before.connection is None:
        events.append(BrokerReturned(cluster=key.cluster, broker=broker, broker_id=up.broker_id, addr=key.addr))
    if is_changed or before.broker_id != up.broker_id:
        events.append(changed(up, before_id=before.broker_id))
    return events


def apply_state(tables: Tables, lease: Lease, state: BrokerUp | BrokerChanged) -> bool:
    """Store what a broker sends about itself and its group; returns whether any of it changed."""
    group = tables.group_table[state.broker]
    flags = (state.acting_master, state.zone)
    is_flag_changed = (group.enable_acting_master, group.zone) != flags
    if is_flag_changed:
        # Java: the flags of a group are those of the member that registered last (B10)
        group.enable_acting_master, group.zone = flags
        tables.touch(group, in_routes=True)
    is_filter_changed = lease.filter_servers != state.filter_servers
    terms = (state.timeout_ms, state.data_version, state.ha_addr)
    is_lease_changed = is_filter_changed or (lease.timeout_ms, lease.data_version, lease.ha_addr) != terms
    if is_lease_changed:
        lease.filter_servers = state.filter_servers
        lease.timeout_ms, lease.data_version, lease.ha_addr = terms
        for name in lease.memberships:
            tables.touch(tables.group_table[name], in_routes=is_filter_changed)
    return is_flag_changed or is_lease_changed


def changed(up: BrokerUp, *, before_id: int) -> BrokerChanged:
    """The same state as an event for an existing member."""
    return BrokerChanged(before_id=before_id, **asdict(up))

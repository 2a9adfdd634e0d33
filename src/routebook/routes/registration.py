"""Registration of a broker (103). Java: RouteInfoManager.registerBroker; here all checks precede the first change."""

from typing import NamedTuple

from routebook.codes import MASTER_ID
from routebook.effects import Change
from routebook.events import DownReason, RouteEvent
from routebook.model import BrokerKey, DataVersion, RegisterResult, Registration, RoutePolicy
from routebook.routes.acting_master import arrival_notice
from routebook.routes.announcements import Announcement, Delta, announce
from routebook.routes.leases import is_changed, is_disconnected
from routebook.routes.membership import join_group, remove_replaced
from routebook.routes.removal import Departure, remove
from routebook.routes.state import BrokerGroup, Tables


class Registered(NamedTuple):
    """The outcome of a registration.

    `result` is None where Java rejects it with code 1. `group_revision` allows `renew` to repeat it; it is None if
    nothing was stored. `announcement` is set if all of its topics were applied: a later registration may then pass
    only what changed.
    """

    result: RegisterResult | None
    change: Change = Change()
    group_revision: int | None = None
    announcement: Announcement | None = None


def register(
    tables: Tables,
    registration: Registration,
    *,
    connection: int,
    now_ms: int,
    policy: RoutePolicy,
    delta: Delta | None = None,
) -> Registered:
    """Add a broker, or update what changed about it."""
    body, broker, broker_id = registration.body, registration.broker, registration.broker_id
    if body.topics is None:
        # Java: also answers 0, but leaves an empty group, or stores the version without the topics
        return Registered(RegisterResult())
    group = tables.group_table.get(broker)
    holder = None if group is None else group.members.get(broker_id)
    if holder is not None and _is_outranked(tables, registration, holder):
        return Registered(RegisterResult(), _reject(tables, registration, policy))
    if holder is None and len(body.topics) == 1:
        # looks like an incremental registration, so the complete one is missing. Java: leaves an empty group (B2)
        return Registered(None)
    min_id_before = MASTER_ID if group is None else group.min_id
    is_first = holder is None
    is_new_version = is_changed(tables, registration.key, body.data_version)
    is_return = holder == registration.key and is_disconnected(tables, registration.key)

    events: list[RouteEvent] = [*remove_replaced(tables, registration)]
    events += join_group(tables, registration, connection=connection, now_ms=now_ms)
    group = tables.group_table[broker]
    announcement: Announcement | None = None
    is_acting_master = registration.acting_master is not None and broker_id != MASTER_ID and broker_id == group.min_id
    if broker_id == MASTER_ID or is_acting_master:
        announced, announcement = announce(
            tables,
            registration,
            delta=delta,
            everything=is_first or is_new_version,
            read_only=is_acting_master and group.enable_acting_master,
            drop_others=not body.mappings
            and (
                policy.delete_topic_with_broker_registration
                or (is_return and is_new_version and _names_all(tables, registration))
            ),
        )
        events += announced
    tables.lease_table[registration.key].is_uncertain = False
    notices = []
    if broker_id < min_id_before and policy.notify_min_broker_id_changed:
        # Java: even if the group has no acting master, unlike when the lowest id leaves (B17)
        notices.append(arrival_notice(group, registration.ha_addr))
    change = tables.settle(events, notices)
    return Registered(_result(tables, group, registration), change, group.revision, announcement)


def _is_outranked(tables: Tables, registration: Registration, holder: BrokerKey) -> bool:
    """Whether another address of this cluster holds the id with a later epoch; at an equal one it is replaced."""
    if holder.addr == registration.addr or holder.cluster != registration.cluster:
        return False
    return _epoch(tables.lease_table[holder].data_version) > _epoch(registration.body.data_version)


def _names_all(tables: Tables, registration: Registration) -> bool:
    """Whether a recovered broker with a new version announces all of its topics, so that others were deleted meanwhile.

    Java keeps none over a restart. A broker may also announce only what is new, or all in parts. A complete table
    contains the topic with the broker's own name, and rarely omits more topics than it names.
    """
    named = {config.topic_name for config in registration.body.topics or ()}
    broker = registration.broker
    if broker not in named:
        return False
    omitted = sum(1 for topic, entry in tables.topic_table.items() if broker in entry.queues and topic not in named)
    return omitted <= len(named)


def _epoch(version: DataVersion | None) -> int:
    """The Controller's master epoch; 0 without a Controller."""
    # Java: a null version on either side throws here, and the registration is lost silently
    return 0 if version is None else version.state_version


def _reject(tables: Tables, registration: Registration, policy: RoutePolicy) -> Change:
    """Remove a former master that claims the id of its successor from the group, with its lease.

    Java: also lets it set the group's flags, and does not make a group read-only that lost its master this way.
    """
    lease = tables.lease_table.get(registration.key)
    membership = None if lease is None else lease.memberships.get(registration.broker)
    if membership is None:
        return Change()
    departure = Departure(registration.key, registration.broker, membership.broker_id)
    return tables.settle(*remove(tables, [departure], reason=DownReason.REPLACED, policy=policy))


def _result(tables: Tables, group: BrokerGroup, registration: Registration) -> RegisterResult:
    """A slave gets the address of its master, if that is in the same cluster."""
    master = group.members.get(MASTER_ID)
    if registration.broker_id == MASTER_ID or master is None or master.cluster != registration.cluster:
        return RegisterResult()
    return RegisterResult(ha_addr=tables.lease_table[master].ha_addr, master_addr=master.addr)

"""A broker registers (103). Java: RouteInfoManager.registerBroker; but all is checked before anything changes."""

from typing import NamedTuple

from routebook.codes import MASTER_ID
from routebook.effects import Change
from routebook.events import DownReason, RouteEvent
from routebook.model import BrokerKey, DataVersion, RegisterResult, Registration, RoutePolicy
from routebook.routes.acting_master import arrival_notice
from routebook.routes.announcements import Announcement, Delta, announce
from routebook.routes.leases import is_awaited, is_changed
from routebook.routes.removal import Leaver, remove
from routebook.routes.seating import make_room, take_seat
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
        # Java: answers 0 too, but leaves an empty group behind, or takes the version without the topics
        return Registered(RegisterResult())
    group = tables.group_table.get(broker)
    holder = None if group is None else group.members.get(broker_id)
    if holder is not None and _is_outranked(tables, registration, holder):
        return Registered(RegisterResult(), _turn_away(tables, registration, policy))
    if holder is None and len(body.topics) == 1:
        # Looks like an incremental registration, so the whole one is missing. Java: leaves an empty group behind (B2)
        return Registered(None)
    least_before = MASTER_ID if group is None else group.least_id
    is_first = holder is None
    is_new_version = is_changed(tables, registration.key, body.data_version)
    is_return = holder == registration.key and is_awaited(tables, registration.key)

    events: list[RouteEvent] = [*make_room(tables, registration)]
    events += take_seat(tables, registration, connection=connection, now_ms=now_ms)
    group = tables.group_table[broker]
    announcement: Announcement | None = None
    is_prime_slave = registration.acting_master is not None and broker_id != MASTER_ID and broker_id == group.least_id
    if broker_id == MASTER_ID or is_prime_slave:
        announced, announcement = announce(
            tables,
            registration,
            delta=delta,
            everything=is_first or is_new_version,
            read_only=is_prime_slave and group.enable_acting_master,
            drop_others=not body.mappings
            and (
                policy.delete_topic_with_broker_registration
                or (is_return and is_new_version and _names_all(tables, registration))
            ),
        )
        events += announced
    tables.lease_table[registration.key].doubtful = False
    notices = []
    if broker_id < least_before and policy.notify_min_broker_id_changed:
        # Java: whether or not the group has acting masters, unlike when the least id leaves (B17)
        notices.append(arrival_notice(group, registration.ha_addr))
    change = tables.settle(events, notices)
    return Registered(_result(tables, group, registration), change, group.touched, announcement)


def _is_outranked(tables: Tables, registration: Registration, holder: BrokerKey) -> bool:
    """Whether another address of this cluster holds the id with a later epoch; an equal one yields."""
    if holder.addr == registration.addr or holder.cluster != registration.cluster:
        return False
    return _epoch(tables.lease_table[holder].data_version) > _epoch(registration.body.data_version)


def _names_all(tables: Tables, registration: Registration) -> bool:
    """Whether a broker that returns with a new version names all topics that it has: others were deleted meanwhile.

    Java remembers none over a restart. A broker may also send what is new alone, or all of it in parts; but it has a
    topic of its own name, and seldom has lost more of them than it names.
    """
    named = {config.topic_name for config in registration.body.topics or ()}
    broker = registration.broker
    if broker not in named:
        return False
    left_out = sum(1 for topic, entry in tables.topic_table.items() if broker in entry.queues and topic not in named)
    return left_out <= len(named)


def _epoch(version: DataVersion | None) -> int:
    """The controller's master epoch; 0 outside controller mode."""
    # Java: a null version on either side throws here, and the registration is lost without a word
    return 0 if version is None else version.state_version


def _turn_away(tables: Tables, registration: Registration, policy: RoutePolicy) -> Change:
    """A deposed broker claims an id that its successor has: it loses the seat it had in this group, and its lease.

    Java: also lets it set the group's flags, and does not make a group read only that lost its master so.
    """
    lease = tables.lease_table.get(registration.key)
    seat = None if lease is None else lease.seats.get(registration.broker)
    if seat is None:
        return Change()
    leaver = Leaver(registration.key, registration.broker, seat.broker_id)
    return tables.settle(*remove(tables, [leaver], reason=DownReason.REPLACED, policy=policy))


def _result(tables: Tables, group: BrokerGroup, registration: Registration) -> RegisterResult:
    """A slave learns of its master, if that lives in the same cluster."""
    master = group.members.get(MASTER_ID)
    if registration.broker_id == MASTER_ID or master is None or master.cluster != registration.cluster:
        return RegisterResult()
    return RegisterResult(ha_addr=tables.lease_table[master].ha_addr, master_addr=master.addr)

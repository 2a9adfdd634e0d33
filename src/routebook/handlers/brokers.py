"""Registered brokers: 104, 322, 904, 901, 106, 205, 327. Registration itself is in `registration`."""

from routebook.errors import BadRequest
from routebook.handlers.names import required_name
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import DONE, OK, Caller, Outcome
from routebook.model import BrokerKey
from routebook.wire.bodies import encode_cluster_info, encode_data_version, encode_member_group
from routebook.wire.command import Command, Reply
from routebook.wire.fields import long_field
from routebook.wire.request_bodies import decode_data_version


def unregister_broker(ns: NameServer, command: Command, caller: Caller, _now_ms: int) -> Outcome:
    """104. Applied before the reply. Java: shortly after it."""
    max_length = ns.settings.name_length
    key = BrokerKey(
        required_name(command, "clusterName", max_length=max_length),
        required_name(command, "brokerAddr", max_length=max_length),
    )
    broker_id = long_field(command, "brokerId")
    if broker_id is None:
        raise BadRequest("brokerId is missing or not a number: nothing was changed")
    change = ns.routes.unregister(
        key,
        broker=required_name(command, "brokerName", max_length=max_length),
        broker_id=broker_id,
        connection=caller.connection,
        policy=ns.settings.policy,
    )
    ns.forget_departed(change.events)
    return Outcome(OK, change.events, change.effects)


def query_data_version(ns: NameServer, command: Command, _caller: Caller, now_ms: int) -> Outcome:
    """322. Whether the broker has to register again because its table changed. Counts as a heartbeat."""
    key = _lease_key(command)
    version = decode_data_version(command.body, now_ms=now_ms)
    # a recovered broker is asked to register, so that its lease is bound to its new connection
    changed = ns.routes.is_changed(key, version) or ns.routes.is_disconnected(key)
    _heartbeat(ns, key, command, now_ms)
    stored = ns.routes.data_version(key)
    ext = {"changed": "true" if changed else "false"}
    return Outcome(Reply(ext=ext, body=None if stored is None else encode_data_version(stored)))


def broker_heartbeat(ns: NameServer, command: Command, _caller: Caller, now_ms: int) -> Outcome:
    """904. Succeeds for unknown brokers, too."""
    _heartbeat(ns, _lease_key(command), command, now_ms)
    return DONE


def get_broker_member_group(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """901. The group's members under their true ids, and the cluster as it was sent."""
    broker = command.field("brokerName")
    body = encode_member_group(
        cluster=command.field("clusterName"),
        broker=broker,
        addrs={} if broker is None else ns.routes.member_group(broker),
    )
    # Java: does not clear this remark on success
    return Outcome(Reply(remark="not set any response code", body=body))


def get_broker_cluster_info(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """106. All brokers by cluster: each 5.x broker requests them every five seconds."""
    body = ns.lists.get((106, ""), ns.routes.revision, lambda: encode_cluster_info(ns.routes.cluster_info()))
    return Outcome(Reply(body=body))


def wipe_write_perm_of_broker(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """205. Remove the write permission of all topics of a broker."""
    count, change = ns.routes.wipe_write(command.field("brokerName") or "")
    return Outcome(Reply(ext={"wipeTopicCount": str(count)}), change.events, change.effects)


def add_write_perm_of_broker(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """327. Restore the write permission of all topics of a broker."""
    count, change = ns.routes.restore_write(command.field("brokerName") or "")
    return Outcome(Reply(ext={"addTopicCount": str(count)}), change.events, change.effects)


def _heartbeat(ns: NameServer, key: BrokerKey, command: Command, now_ms: int) -> None:
    if ns.routes.heartbeat(key, now_ms):
        ns.meter.beat(key, command.field("brokerName") or "", now_ms)


def _lease_key(command: Command) -> BrokerKey:
    cluster, addr = command.field("clusterName"), command.field("brokerAddr")
    if cluster is None or addr is None:
        raise BadRequest(f"{'clusterName' if cluster is None else 'brokerAddr'} is missing")
    return BrokerKey(cluster, addr)

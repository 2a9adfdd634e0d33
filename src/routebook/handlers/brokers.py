"""Brokers come, stay and go: 103, 104, 322, 904, 901, 106, 205, 327."""

import re
import zlib

from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.errors import BadRequest, Denied
from routebook.handlers.names import check_names, checked_name, optional_name, required_name
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import DONE, OK, Caller, Outcome
from routebook.model import BrokerKey, RegisterBody, RegisterResult, Registration
from routebook.wire.bodies import encode_data_version, encode_kv_table, encode_member_group
from routebook.wire.command import Command, Reply
from routebook.wire.fields import bool_field, int_field, long_field
from routebook.wire.register_body import decode_register_body
from routebook.wire.request_bodies import decode_data_version

_HIGHEST_VERSION = 612  # Java: MQVersion.HIGHER_VERSION
_MAPPING_VERSION = re.compile(rb'"mappingDataVersion":\{"counter":-?\d+,"stateVersion":-?\d+,"timestamp":-?\d+\}')
_HEAD_BYTES = 1024
_NOT_CONTENT = ("bodyCrc32", "Signature", "AccessKey", "SecurityToken")


def register_broker(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Outcome:
    """103. The same again from a broker whose group is unchanged only renews its lease."""
    _check_crc(command)
    fingerprint = _fingerprint(ns, command)
    ext = command.ext or {}
    key = BrokerKey(ext.get("clusterName") or "", ext.get("brokerAddr") or "")
    result = ns.routes.renew(key, fingerprint=fingerprint, connection=caller.connection, now_ms=now_ms)
    if result is not None:
        ns.meter.beat(key, ext.get("brokerName") or "", now_ms)
        return Outcome(_registered(ns, result))
    registration = _registration(ns, command, caller, now_ms)
    result, change = ns.routes.register(
        registration,
        connection=caller.connection,
        now_ms=now_ms,
        policy=ns.settings.policy,
        fingerprint=fingerprint,
    )
    if result is None:
        raise BadRequest("register broker failed", with_header=True)
    ns.meter.happened(change.events)
    lease = ns.routes.lease_table.get(key)
    if lease is not None:
        lease.version = command.version
        ns.meter.beat(key, registration.broker, now_ms)
    return Outcome(_registered(ns, result), change.events, change.effects)


def unregister_broker(ns: NameServer, command: Command, caller: Caller, _now_ms: int) -> Outcome:
    """104. Done before the answer; in Java a moment later."""
    longest = ns.settings.name_length
    key = BrokerKey(
        required_name(command, "clusterName", longest=longest), required_name(command, "brokerAddr", longest=longest)
    )
    broker_id = long_field(command, "brokerId")
    if broker_id is None:
        raise BadRequest("brokerId is missing or not a number: nothing was changed")
    change = ns.routes.unregister(
        key,
        broker=required_name(command, "brokerName", longest=longest),
        broker_id=broker_id,
        connection=caller.connection,
        policy=ns.settings.policy,
    )
    ns.meter.happened(change.events)
    return Outcome(OK, change.events, change.effects)


def query_data_version(ns: NameServer, command: Command, _caller: Caller, now_ms: int) -> Outcome:
    """322. Has my table changed? And, on the way, a heartbeat."""
    key = _lease_key(command)
    version = decode_data_version(command.body, now_ms=now_ms)
    # a broker that is known from before a restart is asked to register, so that its connection stands for it again
    changed = ns.routes.is_changed(key, version) or ns.routes.is_awaited(key)
    _heartbeat(ns, key, command, now_ms)
    stored = ns.routes.data_version(key)
    ext = {"changed": "true" if changed else "false"}
    return Outcome(Reply(ext=ext, body=None if stored is None else encode_data_version(stored)))


def broker_heartbeat(ns: NameServer, command: Command, _caller: Caller, now_ms: int) -> Outcome:
    """904. Fine for brokers that nobody knows, too."""
    _heartbeat(ns, _lease_key(command), command, now_ms)
    return DONE


def get_broker_member_group(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """901. The group's members under their true ids; the cluster is echoed."""
    broker = command.field("brokerName")
    body = encode_member_group(
        cluster=command.field("clusterName"),
        broker=broker,
        addrs={} if broker is None else ns.routes.member_group(broker),
    )
    # Java forgets to clear this remark on success
    return Outcome(Reply(remark="not set any response code", body=body))


def get_broker_cluster_info(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """106."""
    return Outcome(Reply(body=ns.cluster_info()))


def wipe_write_perm_of_broker(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """205."""
    count, change = ns.routes.wipe_write(command.field("brokerName") or "")
    return Outcome(Reply(ext={"wipeTopicCount": str(count)}), change.events, change.effects)


def add_write_perm_of_broker(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """327."""
    count, change = ns.routes.restore_write(command.field("brokerName") or "")
    return Outcome(Reply(ext={"addTopicCount": str(count)}), change.events, change.effects)


def _registration(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Registration:
    if command.version < 0:
        raise BadRequest(f"version {command.version} is not a RocketMQ version")
    longest = ns.settings.name_length
    body = decode_register_body(
        command.body,
        version=min(command.version, _HIGHEST_VERSION),
        compressed=bool_field(command, "compressed") or False,
        max_topics=ns.settings.max_topics_per_registration,
        max_inflated=ns.settings.max_inflated_bytes,
        now_ms=now_ms,
        known=ns.known_topics,
        like=ns.routes.announced_before(
            broker=command.field("brokerName") or "", cluster=command.field("clusterName") or ""
        ),
        longest_name=longest,
    )
    _check_body_names(body, caller, longest=longest)
    broker_id = long_field(command, "brokerId")
    if broker_id is None:
        raise BadRequest("brokerId is missing or not a number: nothing was changed")
    return Registration(
        cluster=required_name(command, "clusterName", longest=longest),
        broker=required_name(command, "brokerName", longest=longest),
        addr=required_name(command, "brokerAddr", longest=longest),
        broker_id=broker_id,
        ha_addr=optional_name(command, "haServerAddr", longest=longest),
        timeout_ms=long_field(command, "heartbeatTimeoutMillis"),
        acting_master=bool_field(command, "enableActingMaster"),
        zone=optional_name(command, "__ZONE_NAME", longest=longest),
        body=body,
    )


def _check_body_names(body: RegisterBody, caller: Caller, *, longest: int) -> None:
    unchecked = body.topics if body.news is None else body.news
    check_names([topic.topic_name for topic in unchecked or ()], "topic", longest=longest)
    check_names(list(body.filter_servers or ()), "filter server", longest=longest)
    own = None if caller.identity is None else caller.identity.brokers
    for topic, info in body.mappings.items():
        checked_name(topic, "topic", longest=longest)
        owner = checked_name(info.bname or "", "bname", longest=longest)
        if own is not None and owner not in own:
            raise Denied(f"{caller.who} may not speak for broker {owner}, of which a static topic's mapping is")


def _check_crc(command: Command) -> None:
    expected = int_field(command, "bodyCrc32")
    if expected and zlib.crc32(command.body or b"") & 0x7FFFFFFF != expected:
        raise BadRequest("crc32 not match", with_header=True)


def _fingerprint(ns: NameServer, command: Command) -> bytes:
    """Everything that decides what a registration does: its body, its header, the policy in force.

    A 5.x broker writes the current time into `mappingDataVersion` at every registration, and nobody reads it: without
    it (and the checksum and the signature over it) the same table is the same body. The hash is keyed per process and
    64 bits wide; with the length that is ample to tell a body from the last one.
    """
    body = command.body or b""
    stamp = _MAPPING_VERSION.search(body, 0, _HEAD_BYTES)  # it stands before the topics, and these may be many
    if stamp is None:
        content = (hash(body), len(body))
    else:
        content = (hash(body[: stamp.start()]), hash(memoryview(body)[stamp.end() :]))  # a view: it may be megabytes
    ext = dict(command.ext or {})
    for name in _NOT_CONTENT:
        ext.pop(name, None)
    return repr((content, command.version, ext, ns.settings_revision)).encode()


def _registered(ns: NameServer, result: RegisterResult) -> Reply:
    ext = {}
    if result.ha_addr is not None:
        ext["haServerAddr"] = result.ha_addr
    if result.master_addr is not None:
        ext["masterAddr"] = result.master_addr
    order = ns.kv.list(ORDER_TOPIC_NAMESPACE) if ns.settings.return_order_topic_config_to_broker else None
    return Reply(ext=ext, body=None if order is None else encode_kv_table(order))


def _heartbeat(ns: NameServer, key: BrokerKey, command: Command, now_ms: int) -> None:
    if ns.routes.heartbeat(key, now_ms):
        ns.meter.beat(key, command.field("brokerName") or "", now_ms)


def _lease_key(command: Command) -> BrokerKey:
    cluster, addr = command.field("clusterName"), command.field("brokerAddr")
    if cluster is None or addr is None:
        raise BadRequest(f"{'clusterName' if cluster is None else 'brokerAddr'} is missing")
    return BrokerKey(cluster, addr)

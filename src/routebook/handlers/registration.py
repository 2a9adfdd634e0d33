"""Broker registration: 103."""

import re
import zlib
from typing import Final

from msgspec.structs import replace

from routebook.access.decision import named
from routebook.access.stamp import STAMP
from routebook.access.topic_ownership import may_announce
from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.errors import BadRequest, Denied
from routebook.events import RequestDenied
from routebook.handlers.kv import encoded_namespace
from routebook.handlers.names import check_names, checked_name, optional_name, required_name
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import Caller, Outcome
from routebook.model import BrokerKey, RegisterResult, Registration
from routebook.routes.announcements import Delta
from routebook.steps import Steps, finish
from routebook.wire.command import Command, Reply
from routebook.wire.fields import bool_field, int_field, long_field
from routebook.wire.register_body import DecodedBody, decode_in_steps

_MAX_VERSION: Final = 612  # Java: MQVersion.HIGHER_VERSION
_MAPPING_VERSION: Final = re.compile(
    rb'"mappingDataVersion":\{"counter":-?\d+,"stateVersion":-?\d+,"timestamp":-?\d+\}'
)
_HEAD_BYTES: Final = 1024
REGISTRATION_FAILED: Final = "register broker failed"  # Java's remark, without the reason
_NOT_CONTENT: Final = ("bodyCrc32", "Signature", "AccessKey", "SecurityToken", STAMP)


def register_broker(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Outcome:
    """103. A repeated registration of a broker whose group is unchanged only renews the lease."""
    return finish(register_in_steps(ns, command, caller, now_ms), now_ms=now_ms)


def register_in_steps(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Steps[Outcome]:
    """The same in steps: the body is decoded in many, the tables are changed in one, the last.

    What the body is compared with is kept from the first step: other requests may change it meanwhile.
    """
    _check_crc(command)
    fingerprint = _fingerprint(ns, command, caller)
    ext = command.ext or {}
    key = BrokerKey(ext.get("clusterName") or "", ext.get("brokerAddr") or "")
    result = ns.registrations.renew(
        ns.routes, key, fingerprint=fingerprint, connection=caller.connection, now_ms=now_ms
    )
    if result is not None:
        ns.meter.beat(key, ext.get("brokerName") or "", now_ms)
        return Outcome(_reply(ns, result))
    last = ns.registrations.last_announcement(command.field("brokerName") or "")
    whole = yield from _decode_body(ns, command, now_ms)
    now_ms = yield
    decoded, denied = _owned(whole, command, caller)
    registration = _registration(ns, command, caller, decoded)
    ns.totals.check_registration(ns, registration, caller)
    registered = ns.routes.register(
        registration,
        connection=caller.connection,
        now_ms=now_ms,
        policy=ns.settings.policy,
        delta=None if last is None or decoded.table is None else Delta(decoded.table.changed, last),
    )
    if registered.result is None:
        raise BadRequest(REGISTRATION_FAILED, with_header=True)
    ns.forget_departed(registered.change.events)
    ns.totals.registered(registration.broker, caller.who)
    ns.registrations.remember(registration, decoded, registered, fingerprint=fingerprint)
    lease = ns.routes.lease_table.get(key)
    if lease is not None:
        lease.version, lease.host, lease.identity = command.version, caller.host, caller.who
        ns.meter.beat(key, registration.broker, now_ms)
    events = (*registered.change.events, *denied)
    return Outcome(_reply(ns, registered.result), events, registered.change.effects)


def _owned(decoded: DecodedBody, command: Command, caller: Caller) -> tuple[DecodedBody, tuple[RequestDenied, ...]]:
    """The topics that the sender may announce. Others are left out: the broker keeps its other routes."""
    patterns = None if caller.identity is None else caller.identity.topics
    if patterns is None:
        return decoded, ()
    body, cluster, broker = decoded.body, command.field("clusterName") or "", command.field("brokerName") or ""
    names = {config.topic_name for config in body.topics or ()} | body.mappings.keys()
    others = frozenset(name for name in names if not may_announce(patterns, name, cluster=cluster, broker=broker))
    if not others:
        return decoded, ()
    kept = replace(
        body,
        topics=None if body.topics is None else tuple(one for one in body.topics if one.topic_name not in others),
        mappings={topic: info for topic, info in body.mappings.items() if topic not in others},
    )
    why = f"{caller.who} may not announce topic {named(others)}: left out"
    unchecked = [config for config in decoded.unchecked if config.topic_name not in others]
    return DecodedBody(kept, unchecked, None), (RequestDenied(code=command.code, why=why),)


def _check_crc(command: Command) -> None:
    expected = int_field(command, "bodyCrc32")
    if expected and zlib.crc32(command.body or b"") & 0x7FFFFFFF != expected:
        raise BadRequest("crc32 not match", with_header=True)


def _fingerprint(ns: NameServer, command: Command, caller: Caller) -> str:
    """Everything that determines the effect of a registration: its body, its header, the settings and the rights.

    A 5.x broker writes the current time into `mappingDataVersion` with each registration, and nothing reads it: it is
    left out, together with the checksum and the signature that depend on it. The hash is keyed per process and has 64
    bits; together with the length that distinguishes a body from the previous one.
    """
    body = command.body or b""
    stamp = _MAPPING_VERSION.search(body, 0, _HEAD_BYTES)  # it precedes the topics
    if stamp is None:
        content = (hash(body), len(body))
    else:
        content = (hash(body[: stamp.start()]), hash(memoryview(body)[stamp.end() :]))  # a view avoids a large copy
    ext = dict(command.ext or {})
    for name in _NOT_CONTENT:
        ext.pop(name, None)
    topics = None if caller.identity is None else caller.identity.topics
    return repr((content, command.version, ext, ns.settings_revision, topics))


def _decode_body(ns: NameServer, command: Command, now_ms: int) -> Steps[DecodedBody]:
    if command.version < 0:
        raise BadRequest(f"version {command.version} is not a RocketMQ version")
    return decode_in_steps(
        command.body,
        version=min(command.version, _MAX_VERSION),
        compressed=bool_field(command, "compressed") or False,
        max_topics=ns.settings.max_topics_per_registration,
        max_inflated=ns.settings.max_inflated_bytes,
        now_ms=now_ms,
        cache=ns.registrations.topics,
        max_name_length=ns.settings.name_length,
        previous=ns.registrations.similar_table(
            ns.routes, broker=command.field("brokerName") or "", cluster=command.field("clusterName") or ""
        ),
    )


def _registration(ns: NameServer, command: Command, caller: Caller, decoded: DecodedBody) -> Registration:
    max_length = ns.settings.name_length
    _check_body_names(decoded, caller, max_length=max_length)
    broker_id = long_field(command, "brokerId")
    if broker_id is None:
        raise BadRequest("brokerId is missing or not a number: nothing was changed")
    return Registration(
        cluster=required_name(command, "clusterName", max_length=max_length),
        broker=required_name(command, "brokerName", max_length=max_length),
        addr=required_name(command, "brokerAddr", max_length=max_length),
        broker_id=broker_id,
        ha_addr=optional_name(command, "haServerAddr", max_length=max_length),
        timeout_ms=long_field(command, "heartbeatTimeoutMillis"),
        acting_master=bool_field(command, "enableActingMaster"),
        zone=optional_name(command, "__ZONE_NAME", max_length=max_length),
        body=decoded.body,
    )


def _check_body_names(decoded: DecodedBody, caller: Caller, *, max_length: int) -> None:
    check_names([topic.topic_name for topic in decoded.unchecked], "topic", max_length=max_length)
    check_names(list(decoded.body.filter_servers or ()), "filter server", max_length=max_length)
    allowed = None if caller.identity is None else caller.identity.brokers
    for topic, info in decoded.body.mappings.items():
        checked_name(topic, "topic", max_length=max_length)
        owner = checked_name(info.bname or "", "bname", max_length=max_length)
        if allowed is not None and owner not in allowed:
            raise Denied(f"{caller.who} may not announce the static topic mapping of broker {owner}")


def _reply(ns: NameServer, result: RegisterResult) -> Reply:
    ext = {}
    if result.ha_addr is not None:
        ext["haServerAddr"] = result.ha_addr
    if result.master_addr is not None:
        ext["masterAddr"] = result.master_addr
    is_wanted = ns.settings.return_order_topic_config_to_broker
    return Reply(ext=ext, body=encoded_namespace(ns, ORDER_TOPIC_NAMESPACE) if is_wanted else None)

"""Route look-up (105)."""

from typing import Final

import msgspec

from routebook.codes import ORDER_TOPIC_NAMESPACE, VERSION_4_9_4
from routebook.effects import AskProduct
from routebook.errors import NotReady, TopicNotExist
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import Caller, Outcome
from routebook.handlers.route_cache import Entry, RouteKey
from routebook.model import TopicRoute
from routebook.routes.zones import filter_route
from routebook.wire.bodies import encode_route
from routebook.wire.command import Command, Reply

_NO_ROUTE: Final = (
    "No topic route info in name server for the topic: {topic}\n"
    "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
)


def get_route_info_by_topic(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Outcome:
    """105. Answered from the route cache, unless the caller asks for the brokers of its own zone only."""
    settings = ns.settings
    if settings.cluster_test:
        return _cluster_test_route(ns, command, caller)
    if settings.need_wait_for_service and now_ms - ns.started_ms < settings.wait_seconds_for_service * 1000:
        raise NotReady("name server not ready")
    ext = command.ext or {}
    topic = ext.get("topic")
    if topic is None:
        raise TopicNotExist(_NO_ROUTE.format(topic="null"))
    if "__ZONE_MODE" in ext and (zone := _zone(ext)) is not None:
        body: bytes | None = _zone_body(ns, topic, zone)
    else:
        key = (topic, _wants_standard(command, ext))
        revision = ns.revision()
        body = ns.cache.fresh(key, revision) or _cached_body(ns, key, revision)
    row = ns.meter.row(caller, topic, command.language, command.version)
    row[0] += 1
    if body is None:
        row[1] += 1
        raise TopicNotExist(_NO_ROUTE.format(topic=topic))
    row[2] += len(body)
    return Outcome(Reply(0, None, None, body))


def cache_key(command: Command) -> RouteKey | None:
    """The key of the cached route that answers a look-up; None if it is not answered from the cache."""
    ext = command.ext or {}
    topic = ext.get("topic")
    if topic is None or "__ZONE_MODE" in ext:
        return None
    return topic, _wants_standard(command, ext)


def _wants_standard(command: Command, ext: dict[str, str | None]) -> bool:
    return command.version >= VERSION_4_9_4 or (ext.get("acceptStandardJsonOnly") or "").lower() == "true"


def unchanged_entry(ns: NameServer, key: RouteKey, revision: int) -> Entry | None:
    """The cached entry, marked fresh, if the route itself is unchanged; None: it has to be encoded."""
    base = revision - ns.routes.revision
    entry = ns.cache.get(key)
    if entry is None or entry.base_revision != base or ns.routes.route_changed(key[0], since=entry.revision - base):
        return None
    entry.revision = revision
    return entry


def _cached_body(ns: NameServer, key: RouteKey, revision: int) -> bytes | None:
    """The route's body from the cache if the route itself is unchanged, else encoded and cached."""
    entry = unchanged_entry(ns, key, revision)
    if entry is not None:
        return entry.body
    topic, standard = key
    route = _route(ns, topic, ordered=ns.settings.order_message_enable)
    if route is None:
        return None
    body = encode_route(route, standard=standard)
    ns.cache.put(key, body, revision=revision, base_revision=revision - ns.routes.revision)
    return body


def _zone_body(ns: NameServer, topic: str, zone: str) -> bytes | None:
    route = _route(ns, topic, ordered=ns.settings.order_message_enable)
    # Java: ZoneRouteRPCHook always encodes in the plain profile
    return None if route is None else encode_route(filter_route(route, zone), standard=False)


def _cluster_test_route(ns: NameServer, command: Command, caller: Caller) -> Outcome:
    """clusterTest: a topic without a route here is looked up in the production environment.

    Java: in the plain profile, and regardless of `needWaitForService`.
    """
    topic = command.field("topic")
    if topic is None:
        raise TopicNotExist(_NO_ROUTE.format(topic="null"))
    row = ns.meter.row(caller, topic, command.language, command.version)
    row[0] += 1
    route = _route(ns, topic, ordered=True)
    if route is None:  # counted as a miss, whatever the production environment answers
        row[1] += 1
        return Outcome(None, effects=(AskProduct(topic),))
    body = encode_route(route, standard=False)
    row[2] += len(body)
    return Outcome(Reply(body=body))


def no_route(topic: str) -> Reply:
    """The reply for a topic without a route."""
    return Reply(code=TopicNotExist.code, remark=_NO_ROUTE.format(topic=topic))


def _zone(ext: dict[str, str | None]) -> str | None:
    if (ext.get("__ZONE_MODE") or "").lower() != "true":
        return None
    name = ext.get("__ZONE_NAME")
    return name if name and not name.isspace() else None


def _route(ns: NameServer, topic: str, *, ordered: bool) -> TopicRoute | None:
    route = ns.routes.route(topic, ns.settings.policy)
    if route is None or not ordered:
        return route
    return msgspec.structs.replace(route, order_topic_conf=ns.kv.get(ORDER_TOPIC_NAMESPACE, topic))

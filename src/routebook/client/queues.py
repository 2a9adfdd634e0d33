"""The queues of a topic for producers and consumers, derived from its route exactly as the Java client does.

to publish     orderTopicConf `b1:4;b2:4`  → exactly those, ordered
               else static mapping         → logical queues 0..n-1 of the mock broker `__syslo__<scope>`
               else                        → queueDatas by broker name, writable, whose broker has a master: 0..write-1
to subscribe   static mapping              → as above
               else                        → queueDatas, readable, master or not: 0..read-1

Java: MQClientInstance.topicRouteData2TopicPublishInfo, …2TopicSubscribeInfo and ClientMetadata.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from routebook.codes import MASTER_ID, PERM_READ, PERM_WRITE
from routebook.errors import MalformedRoute
from routebook.model import TopicQueueMappingInfo, TopicRoute

MOCK_BROKER_PREFIX: Final = "__syslo__"
NO_HOST: Final = "__syslo__none__"
_GLOBAL_SCOPE: Final = "__global__"
_INT32: Final = 1 << 31
_MAX_QUEUES: Final = 1 << 20  # a larger number is an error in the route and would exhaust memory


class MessageQueue(NamedTuple):
    """One queue of a topic. For a static topic, `broker` is the mock broker name of its scope."""

    topic: str
    broker: str
    queue_id: int


class PublishQueues(msgspec.Struct, frozen=True):
    """The queues of a producer, in order; `ordered` if they come from an order configuration."""

    queues: tuple[MessageQueue, ...]
    ordered: bool = False


def publish_queues(topic: str, route: TopicRoute) -> PublishQueues:
    """Return the queues that a producer sends to."""
    if route.order_topic_conf:
        return PublishQueues(tuple(_ordered_queues(topic, route.order_topic_conf)), ordered=True)
    mappings = route.topic_queue_mapping_by_broker
    if route.order_topic_conf is None and mappings:
        # Java sorts by id only; equal ids of two scopes are in hash order there, by name here
        queues = sorted(static_queue_hosts(topic, mappings), key=lambda queue: (queue.queue_id, _java(queue.broker)))
        return PublishQueues(tuple(queues))
    with_master: dict[str, bool] = {}
    for data in route.broker_datas:
        with_master.setdefault(data.broker_name, MASTER_ID in data.broker_addrs)  # Java: the first entry with that name
    return PublishQueues(
        tuple(
            MessageQueue(topic, data.broker_name, queue_id)
            for data in sorted(route.queue_datas, key=lambda data: _java(data.broker_name))
            if data.perm & PERM_WRITE and with_master.get(data.broker_name, False)
            for queue_id in _ids(data.write_queue_nums, topic)
        )
    )


def subscribe_queues(topic: str, route: TopicRoute) -> frozenset[MessageQueue]:
    """Return the queues that a consumer group reads from."""
    if route.topic_queue_mapping_by_broker:
        return frozenset(static_queue_hosts(topic, route.topic_queue_mapping_by_broker))
    return frozenset(
        MessageQueue(topic, data.broker_name, queue_id)
        for data in route.queue_datas
        if data.perm & PERM_READ
        for queue_id in _ids(data.read_queue_nums, topic)
    )


def static_queue_hosts(topic: str, mappings: Mapping[str, TopicQueueMappingInfo]) -> dict[MessageQueue, str]:
    """Return the logical queues of a static topic with their brokers: the claim with the highest epoch wins.

    For two claims with one epoch, Java takes the last in hash order; here it is the last by name.
    """
    scopes: dict[str, list[TopicQueueMappingInfo]] = {}
    for name in sorted(mappings, key=_java):
        if (scope := mappings[name].scope) is not None:
            scopes.setdefault(scope, []).append(mappings[name])
    hosts: dict[MessageQueue, str] = {}
    for scope, infos in scopes.items():
        claims: dict[int, str | None] = {}
        for info in sorted(infos, key=lambda info: info.epoch):
            claims.update(dict.fromkeys(info.curr_id_map or (), info.bname))
        total = max((info.total_queues for info in infos if info.epoch >= -1), default=0)
        for queue_id in _ids(total, topic):
            host = claims.get(queue_id, NO_HOST)
            hosts[MessageQueue(topic, mock_broker_name(scope), queue_id)] = host if host is not None else NO_HOST
    return hosts


def mock_broker_name(scope: str) -> str:
    """Return the mock broker name for all brokers of a scope. Java: TopicQueueMappingUtils."""
    return MOCK_BROKER_PREFIX + (scope[2:] if scope == _GLOBAL_SCOPE else scope)


def check_order(topic: str, order_conf: str) -> None:
    """Raise MalformedRoute if clients would reject this order configuration."""
    if order_conf:
        for _ in _ordered_queues(topic, order_conf):
            pass


def _ordered_queues(topic: str, order_conf: str) -> Iterable[MessageQueue]:
    for part in _java_split(order_conf, ";"):
        fields = _java_split(part, ":")
        if len(fields) < 2 or (count := _java_int(fields[1])) is None:
            raise MalformedRoute(
                f"the order configuration of topic {topic} is {order_conf!r}: {part!r} is not BROKER:QUEUES"
            )
        for queue_id in _ids(count, topic):
            yield MessageQueue(topic, fields[0], queue_id)


def _ids(count: int, topic: str) -> range:
    if count > _MAX_QUEUES:
        raise MalformedRoute(f"the route of topic {topic} names {count} queues on one broker")
    return range(count)


def _java_split(text: str, separator: str) -> list[str]:
    """Java: String.split drops trailing empty strings; splitting the empty string gives one empty string."""
    parts = text.split(separator)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts if len(parts) > 1 or parts[0] or not text else []


def _java_int(text: str) -> int | None:
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits.isdecimal() or len(digits.lstrip("0")) > 10:
        return None
    value = int(text)
    return value if -_INT32 <= value < _INT32 else None


def _java(name: str) -> bytes:
    """Sort key: Java compares strings by UTF-16 unit."""
    return name.encode("utf-16-be", "surrogatepass")

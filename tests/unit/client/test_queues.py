"""Queues of a route; tests/interop compares random routes with the Java client."""

import pytest

from routebook.client.queues import NO_HOST, MessageQueue, publish_queues, static_queue_hosts, subscribe_queues
from routebook.errors import MalformedRoute
from routebook.model import BrokerData, QueueData, TopicQueueMappingInfo, TopicRoute


def broker(name: str, *ids: int) -> BrokerData:
    addrs = {broker_id: f"{name}:{broker_id}" for broker_id in ids}
    return BrokerData(broker_addrs=addrs, broker_name=name, cluster="c", enable_acting_master=False)


def queues(name: str, perm: int, *, read: int = 1, write: int = 2) -> QueueData:
    return QueueData(broker_name=name, perm=perm, read_queue_nums=read, topic_sys_flag=0, write_queue_nums=write)


def mapping(name: str, epoch: int, *ids: int, total: int = 3, scope: str = "__global__") -> TopicQueueMappingInfo:
    return TopicQueueMappingInfo(
        bname=name,
        curr_id_map=dict.fromkeys(ids, 0),
        dirty=False,
        epoch=epoch,
        scope=scope,
        topic="t",
        total_queues=total,
    )


def route(
    brokers: list[BrokerData],
    queue_datas: list[QueueData],
    *,
    order: str | None = None,
    mappings: list[TopicQueueMappingInfo] | None = None,
) -> TopicRoute:
    return TopicRoute(
        broker_datas=brokers,
        filter_server_table={},
        order_topic_conf=order,
        queue_datas=queue_datas,
        topic_queue_mapping_by_broker=None if mappings is None else {str(info.bname): info for info in mappings},
    )


def test_publish_needs_write_permission_and_a_master_subscribe_needs_read_permission() -> None:
    here = route(
        [broker("b", 0), broker("a", 0, 1), broker("slave", 1), broker("ro", 0), broker("wo", 0)],
        [queues("b", 6), queues("a", 7), queues("slave", 6), queues("ro", 4), queues("wo", 2), queues("gone", 6)],
    )

    published = publish_queues("t", here)

    assert published.queues == tuple(MessageQueue("t", name, number) for name in ("a", "b", "wo") for number in (0, 1))
    assert not published.ordered
    assert {queue.broker for queue in subscribe_queues("t", here)} == {"a", "b", "slave", "ro", "gone"}


def test_an_order_configuration_replaces_the_queues() -> None:
    here = route([], [queues("a", 6)], order="b:2;a:1")

    published = publish_queues("t", here)

    assert published.queues == (MessageQueue("t", "b", 0), MessageQueue("t", "b", 1), MessageQueue("t", "a", 0))
    assert published.ordered
    assert subscribe_queues("t", here) == {MessageQueue("t", "a", 0)}


@pytest.mark.parametrize("order", ["a", "a:", "a:x", ";a:1", "a:1;b", "a:99999999999", "a: 1"])
def test_an_invalid_order_configuration_is_an_error(order: str) -> None:
    with pytest.raises(MalformedRoute, match="order configuration of topic t"):
        publish_queues("t", route([], [], order=order))


def test_a_static_topic_has_logical_queues_on_a_mock_broker() -> None:
    here = route([broker("a", 0)], [queues("a", 6)], mappings=[mapping("a", 1, 0, 1), mapping("b", 2, 1)])
    logical = [MessageQueue("t", "__syslo__global__", number) for number in range(3)]

    assert publish_queues("t", here).queues == tuple(logical)
    assert subscribe_queues("t", here) == set(logical)
    hosts = static_queue_hosts("t", here.topic_queue_mapping_by_broker or {})
    assert [hosts[queue] for queue in logical] == ["a", "b", NO_HOST]


def test_an_empty_order_configuration_hides_the_static_mapping_from_producers_only() -> None:
    here = route([broker("a", 0)], [queues("a", 6)], order="", mappings=[mapping("a", 1, 0)])

    assert {queue.broker for queue in publish_queues("t", here).queues} == {"a"}
    assert {queue.broker for queue in subscribe_queues("t", here)} == {"__syslo__global__"}


def test_other_scopes_keep_their_name() -> None:
    hosts = static_queue_hosts("t", {"a": mapping("a", 1, 0, total=1, scope="s")})
    assert hosts == {MessageQueue("t", "__syslo__s", 0): "a"}


@pytest.mark.parametrize(
    "here",
    [
        route([broker("a", 0)], [queues("a", 6, read=1 << 30, write=1 << 30)]),
        route([], [], order="a:2000000000"),
        route([], [], mappings=[mapping("a", 1, 0, total=1 << 30)]),
    ],
)
def test_a_route_with_excessive_queue_counts_is_rejected(here: TopicRoute) -> None:
    with pytest.raises(MalformedRoute, match="queues on one broker"):
        publish_queues("t", here)

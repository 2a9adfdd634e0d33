"""Routes for one zone; with counterparts of ZoneRouteRPCHookTest and ZoneRouteRPCHookMoreTest (…_by_zone_name)."""

import pytest

from routebook.model import BrokerData, TopicRoute
from routebook.routes.zones import filter_route
from tests.support.route_tables import queue


def data(broker: str, zone: str | None, addrs: dict[int, str]) -> BrokerData:
    return BrokerData(broker_addrs=addrs, broker_name=broker, cluster="c", enable_acting_master=False, zone_name=zone)


def two_zones(filter_servers: dict[str, list[str]] | None = None) -> TopicRoute:
    return TopicRoute(
        broker_datas=[data("BrokerA", "zone1", {0: "a:0", 1: "a:1"}), data("BrokerB", "zone2", {0: "b:0"})],
        filter_server_table=filter_servers or {},
        queue_datas=[queue("BrokerA"), queue("BrokerB")],
    )


def names(route: TopicRoute) -> tuple[list[str], list[str]]:
    return [d.broker_name for d in route.broker_datas], [q.broker_name for q in route.queue_datas]


def test_valid_zone_filtering_keeps_one_broker_and_its_queues() -> None:
    """Java: testDoAfterResponseWithValidZoneFiltering."""
    assert names(filter_route(two_zones(), "zone1")) == (["BrokerA"], ["BrokerA"])


@pytest.mark.parametrize("servers", [{"a:0": ["f"]}, {"a:0": ["f"], "b:0": ["f"]}], ids=["kept", "kept_and_dropped"])
def test_valid_zone_filtering_keeps_filter_servers_of_remaining_brokers(servers: dict[str, list[str]]) -> None:
    """Java: testDoAfterResponseWithValidZoneFiltering, its last two assertions."""
    assert filter_route(two_zones(servers), "zone1").filter_server_table == {"a:0": ["f"]}


def test_filter_by_zone_name() -> None:
    """Java: testFilterByZoneName_ValidInput_ShouldFilterCorrectly (which gives the hook no body to filter)."""
    route = two_zones()
    assert names(filter_route(route, "zone2")) == (["BrokerB"], ["BrokerB"])
    assert len(route.broker_datas) == len(route.queue_datas) == 2


def test_a_group_without_a_master_stays_in_any_zone() -> None:
    route = TopicRoute(
        broker_datas=[data("a", "zone2", {1: "a:1"}), data("b", "zone2", {0: "b:0"})],
        filter_server_table={},
        queue_datas=[queue("a"), queue("b")],
    )
    assert names(filter_route(route, "zone1")) == (["a"], ["a"])


@pytest.mark.parametrize(
    ("zone", "wanted", "stays"),
    [
        ("zone1", "ZONE1", True),
        ("Zürich", "ZÜRICH", True),
        ("straße", "STRASSE", False),
        ("zone1", "zone", False),
        ("", "zone1", False),
        (None, "zone1", False),
    ],
)
def test_zone_names_are_compared_without_case(zone: str | None, wanted: str, stays: bool) -> None:
    route = TopicRoute(broker_datas=[data("a", zone, {0: "a:0"})], filter_server_table={}, queue_datas=[queue("a")])
    assert names(filter_route(route, wanted)) == ((["a"], ["a"]) if stays else ([], []))


def test_the_rest_of_the_route_stays() -> None:
    route = TopicRoute(
        broker_datas=[],
        filter_server_table={},
        queue_datas=[],
        order_topic_conf="a:4",
        topic_queue_mapping_by_broker={},
    )
    assert filter_route(route, "zone1") == route

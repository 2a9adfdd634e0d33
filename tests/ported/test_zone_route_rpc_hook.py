"""Ports of Java's ZoneRouteRPCHookTest and ZoneRouteRPCHookMoreTest, at the request that the hook handles."""

import json

import pytest

from tests.support.core_client import CoreClient


@pytest.fixture
def ns() -> CoreClient:
    asker = CoreClient()
    asker.register("t", "u", broker="BrokerA", addr="127.0.0.1:10911", __ZONE_NAME="ZoneA")
    asker.register("t", "u", broker="BrokerB", addr="127.0.0.2:10911", connection=2, __ZONE_NAME="ZoneB")
    return asker


def brokers(ns: CoreClient, **zone: str) -> list[str]:
    """Names in a route; the zone's answer is in the plain profile, which is no JSON until its keys are quoted."""
    reply = ns.ask(105, {"topic": "t", **zone})
    assert reply.code == 0
    assert reply.body is not None
    route = json.loads(reply.body.replace(b"{0:", b'{"0":'))
    assert [queue["brokerName"] for queue in route["queueDatas"]] == [b["brokerName"] for b in route["brokerDatas"]]
    return [broker["brokerName"] for broker in route["brokerDatas"]]


def test_no_zone_mode_leaves_the_route_alone(ns: CoreClient) -> None:
    assert brokers(ns) == ["BrokerA", "BrokerB"]
    assert brokers(ns, __ZONE_MODE="false", __ZONE_NAME="ZoneA") == ["BrokerA", "BrokerB"]
    assert ns.ask(106, {"__ZONE_MODE": "true", "__ZONE_NAME": "ZoneA"}).body == ns.ask(106).body


@pytest.mark.parametrize("zone", [{}, {"__ZONE_NAME": ""}, {"__ZONE_NAME": "  "}], ids=["missing", "empty", "blank"])
def test_no_zone_name_leaves_the_route_alone(ns: CoreClient, zone: dict[str, str]) -> None:
    assert brokers(ns, __ZONE_MODE="true", **zone) == ["BrokerA", "BrokerB"]


def test_no_response_stays_none(ns: CoreClient) -> None:
    reply = ns.ask(105, {"topic": "nowhere", "__ZONE_MODE": "true", "__ZONE_NAME": "ZoneA"})
    assert (reply.code, reply.body) == (17, None)


def test_valid_input_filters(ns: CoreClient) -> None:
    assert brokers(ns, __ZONE_MODE="TRUE", __ZONE_NAME="zonea") == ["BrokerA"]

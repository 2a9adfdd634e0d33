"""Ports of Java's ClusterTestRequestProcessorTest: clusterTest, and needWaitForService."""

import pytest

from routebook.effects import AskProduct
from tests.support.core_client import CoreClient


def test_get_route_info_by_topic() -> None:
    """What is not known here is asked of the product environment; without a topic there is nothing to ask."""
    ns = CoreClient(clusterTest="true")
    assert ns.outcome(105, {"topic": "t"}).effects == (AskProduct("t"),)
    reply = ns.ask(105)
    assert (reply.code, reply.body) == (17, None)
    assert reply.remark is not None


def test_known_topics_are_answered_here_with_their_order() -> None:
    ns = CoreClient(clusterTest="true")
    ns.register("t", "u")
    ns.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "t", "value": "broker-a:4"})
    reply = ns.route("t")
    assert reply.body is not None
    assert b'"orderTopicConf":"broker-a:4"' in reply.body
    assert b'"brokerAddrs":{0:' in reply.body  # always the plain profile


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        pytest.param({"needWaitForService": "true", "waitSecondsForService": "-1"}, 0, id="namesrv_ready"),
        pytest.param({"needWaitForService": "false", "waitSecondsForService": "45"}, 0, id="no_need_wait_for_service"),
        pytest.param({"needWaitForService": "true", "waitSecondsForService": "45"}, 1, id="namesrv_not_ready"),
    ],
)
def test_gate(settings: dict[str, str], code: int) -> None:
    ns = CoreClient(**settings)
    ns.register("t", "u")
    assert ns.route("t").code == code


def test_namesrv() -> None:
    ns = CoreClient(needWaitForService="true", waitSecondsForService="3")
    ns.register("t", "u")
    reply = ns.route("t")
    assert (reply.code, reply.remark) == (1, "name server not ready")
    ns.now_ms += 3000
    assert ns.route("t").code == 0

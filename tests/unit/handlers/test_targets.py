"""The clusters and brokers that a request would change."""

import json

import pytest

from routebook.access.decision import NOTHING, Target
from routebook.errors import RequestError
from routebook.handlers.targets import target_of
from routebook.wire.command import Command
from tests.support.core_client import CoreClient


@pytest.fixture(scope="module")
def asker() -> CoreClient:
    asker = CoreClient()
    asker.register("T", "only-a", broker="b-a", addr="a:1", clusterName="c1")
    asker.register("T", "only-b", broker="b-b", addr="b:1", clusterName="c2")
    return asker


def target(asker: CoreClient, code: int, body: bytes | None = None, **ext: str) -> Target:
    return target_of(asker.nameserver, Command(code=code, opaque=1, ext={**ext}, body=body))


def found(clusters: str = "", brokers: str = "", topics: str = "", *, all_topics: bool = False) -> Target:
    return Target(
        clusters=frozenset(clusters.split()),
        brokers=frozenset(brokers.split()),
        topics=frozenset(topics.split()),
        all_topics=all_topics,
    )


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_a_brokers_own_request(asker: CoreClient, code: int) -> None:
    assert target(asker, code, clusterName="c1", brokerName="b-a", brokerAddr="a:1") == found("c1", "b-a")
    assert target(asker, code, clusterName="c3", brokerName="new", brokerAddr="n:1") == found("c3", "new")


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_a_request_with_the_address_or_name_of_another_broker(asker: CoreClient, code: int) -> None:
    assert target(asker, code, clusterName="c1", brokerName="mine", brokerAddr="a:1") == found("c1", "mine b-a")
    assert target(asker, code, clusterName="c1", brokerName="b-b", brokerAddr="x:1") == found("c1 c2", "b-b")
    assert target(asker, code, clusterName="c1", brokerAddr="a:1") == found("c1", "b-a")


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_the_address_of_a_broker_of_another_cluster(asker: CoreClient, code: int) -> None:
    assert target(asker, code, clusterName="c2", brokerName="mine", brokerAddr="a:1") == found("c1 c2", "mine b-a")
    assert target(asker, code, clusterName="new", brokerName="mine", brokerAddr="b:1") == found("new c2", "mine b-b")


def test_topics(asker: CoreClient) -> None:
    assert target(asker, 216, topic="T") == found("c1 c2", "b-a b-b", "T")
    assert target(asker, 216, topic="T", clusterName="c2") == found("c2", "b-b", "T")
    assert target(asker, 216, topic="only-a") == found("c1", "b-a", "only-a")
    assert target(asker, 216, topic="absent") == found(topics="absent")


def test_a_single_topic(asker: CoreClient) -> None:
    queue = {"brokerName": "b-b", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0}
    body = json.dumps({"queueDatas": [queue], "brokerDatas": []}).encode()
    assert target(asker, 217, body, topic="N") == found("c2", "b-b", "N")
    with pytest.raises(RequestError):
        target(asker, 217, b"{", topic="N")


def test_permissions(asker: CoreClient) -> None:
    expected = found("c1", "b-a", all_topics=True)
    assert target(asker, 205, brokerName="b-a") == target(asker, 327, brokerName="b-a") == expected
    assert target(asker, 205) == found(all_topics=True)


@pytest.mark.parametrize("code", [100, 102, 318])
def test_requests_that_change_the_whole_server(asker: CoreClient, code: int) -> None:
    assert target(asker, code) == Target(whole_server=True)


@pytest.mark.parametrize("code", [101, 105, 106, 206, 219, 319, 901, 34])
def test_reads_change_nothing(asker: CoreClient, code: int) -> None:
    assert target(asker, code, topic="T", brokerName="b-a", clusterName="c1") == NOTHING

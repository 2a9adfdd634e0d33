"""What a request would change: also by an address or a name that is somebody else's."""

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


def found(clusters: str = "", brokers: str = "") -> Target:
    return Target(clusters=frozenset(clusters.split()), brokers=frozenset(brokers.split()))


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_a_broker_speaks_for_itself(asker: CoreClient, code: int) -> None:
    assert target(asker, code, clusterName="c1", brokerName="b-a", brokerAddr="a:1") == found("c1", "b-a")
    assert target(asker, code, clusterName="c3", brokerName="new", brokerAddr="n:1") == found("c3", "new")


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_or_for_another_by_its_address_or_name(asker: CoreClient, code: int) -> None:
    assert target(asker, code, clusterName="c1", brokerName="mine", brokerAddr="a:1") == found("c1", "mine b-a")
    assert target(asker, code, clusterName="c1", brokerName="b-b", brokerAddr="x:1") == found("c1 c2", "b-b")
    assert target(asker, code, clusterName="c1", brokerAddr="a:1") == found("c1", "b-a")


def test_topics(asker: CoreClient) -> None:
    assert target(asker, 216, topic="T") == found("c1 c2", "b-a b-b")
    assert target(asker, 216, topic="T", clusterName="c2") == found("c2", "b-b")
    assert target(asker, 216, topic="only-a") == found("c1", "b-a")
    assert target(asker, 216, topic="absent") == NOTHING


def test_one_topic_by_itself(asker: CoreClient) -> None:
    queue = {"brokerName": "b-b", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0}
    body = json.dumps({"queueDatas": [queue], "brokerDatas": []}).encode()
    assert target(asker, 217, body, topic="N") == found("c2", "b-b")
    with pytest.raises(RequestError):
        target(asker, 217, b"{", topic="N")


def test_permissions(asker: CoreClient) -> None:
    assert target(asker, 205, brokerName="b-a") == target(asker, 327, brokerName="b-a") == found("c1", "b-a")
    assert target(asker, 205) == NOTHING


@pytest.mark.parametrize("code", [100, 102, 318])
def test_what_is_of_the_whole_server(asker: CoreClient, code: int) -> None:
    assert target(asker, code) == Target(whole_server=True)


@pytest.mark.parametrize("code", [101, 105, 106, 206, 219, 319, 901, 34])
def test_who_only_reads_changes_nothing(asker: CoreClient, code: int) -> None:
    assert target(asker, code, topic="T", brokerName="b-a", clusterName="c1") == NOTHING

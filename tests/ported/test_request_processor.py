"""Ports of Java's RequestProcessorTest, test by test."""

import json
import zlib

import pytest

from tests.support.core_client import CoreClient, parsed, register_body

SAMPLE = {
    "brokerName": "broker",
    "brokerAddr": "10.10.1.1",
    "clusterName": "cluster",
    "haServerAddr": "10.10.2.1",
    "brokerId": "2333",
    "topic": "unit-test0",
}


@pytest.fixture
def ns() -> CoreClient:
    """One broker with two topics, under id 1234, as in Java's set-up."""
    asker = CoreClient()
    table = {f"unit-test{n}": {"topicName": f"unit-test{n}"} for n in range(2)}
    body = {"dataVersion": {"counter": 0, "stateVersion": 0, "timestamp": 0}, "topicConfigTable": table}
    header = {"clusterName": "default-cluster", "brokerName": "default-broker", "brokerAddr": "127.0.0.1:10911"}
    header |= {"brokerId": "0", "haServerAddr": ""}
    assert asker.ask(103, header, json.dumps(body).encode(), version=0).code == 0
    return asker


def test_put_kv_config(ns: CoreClient) -> None:
    reply = ns.ask(100, {"namespace": "namespace", "key": "key", "value": "value"})
    assert (reply.code, reply.remark) == (0, None)
    assert ns.nameserver.kv.get("namespace", "key") == "value"


def test_get_kv_config_return_not_null(ns: CoreClient) -> None:
    ns.nameserver.kv.put("namespace", "key", "value")
    reply = ns.ask(101, {"namespace": "namespace", "key": "key"})
    assert (reply.code, reply.remark, reply.ext) == (0, None, {"value": "value"})


def test_get_kv_config_return_null(ns: CoreClient) -> None:
    reply = ns.ask(101, {"namespace": "namespace", "key": "key"})
    assert (reply.code, reply.remark, reply.ext) == (22, "No config item, Namespace: namespace Key: key", {})


def test_delete_kv_config(ns: CoreClient) -> None:
    ns.nameserver.kv.put("namespace", "key", "value")
    reply = ns.ask(102, {"namespace": "namespace", "key": "key"})
    assert (reply.code, reply.remark) == (0, None)
    assert ns.nameserver.kv.get("namespace", "key") is None


def test_unsupported_request(ns: CoreClient) -> None:
    assert ns.ask(99999).code == 3


def test_update_config_path(ns: CoreClient) -> None:
    assert ns.ask(318, None, b"enableTopicList=true\n").code == 0
    for refused in (b"configStorePath=test/path\n", b"kvConfigPath=test/path\n", b"configBlackList=test;path\n"):
        reply = ns.ask(318, None, refused)
        assert (reply.code, reply.remark) == (16, "Can not update config in black list.")


@pytest.mark.parametrize("version", [513, 100], ids=["register_broker", "register_broker_with_filter_server"])
def test_register_broker(ns: CoreClient, version: int) -> None:
    body = register_body("unit-test1", "unit-test2")
    header = {**SAMPLE, "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF)}
    reply = ns.ask(103, header, body, version=version)
    assert (reply.code, reply.remark) == (0, None)
    assert ns.nameserver.routes.member_group("broker") == {2333: "10.10.1.1"}


def test_unregister_broker(ns: CoreClient) -> None:
    """Java only sees that the other broker is still there, since it unregisters a moment later; here it is done."""
    ns.ask(103, SAMPLE, register_body("unit-test1", "unit-test2"))
    reply = ns.ask(104, SAMPLE)
    assert (reply.code, reply.remark) == (0, None)
    assert ns.nameserver.routes.member_group("broker") == {}
    assert ns.nameserver.routes.member_group("default-broker") != {}


def test_get_all_topic_list(ns: CoreClient) -> None:
    reply = ns.ask(206)
    assert (reply.code, reply.remark) == (0, None)
    ns.ask(318, None, b"enableAllTopicList=false\n")
    assert ns.ask(206).code == 1


def test_get_route_info_by_topic(ns: CoreClient) -> None:
    assert ns.route("unit-test0").code == 0
    assert ns.route("test").code == 17


@pytest.mark.parametrize("code", [106, 205, 206, 216, 304, 311, 312, 313, 319], ids=str)
def test_requests_that_answer_0(ns: CoreClient, code: int) -> None:
    """testGetBrokerClusterInfo, testWipeWritePermOfBroker, testGetAllTopicListFromNameserver and the like."""
    assert ns.ask(code, SAMPLE).code == 0


def test_get_kv_list_by_namespace(ns: CoreClient) -> None:
    assert ns.ask(219, {"namespace": "default-namespace-1"}).code == 22
    ns.nameserver.kv.put("default-namespace-1", "key", "value")
    assert parsed(ns.ask(219, {"namespace": "default-namespace-1"})) == {"table": {"key": "value"}}


def test_get_topics_by_cluster(ns: CoreClient) -> None:
    listed = parsed(ns.ask(224, {"cluster": "default-cluster"}))
    assert listed == {"topicList": ["unit-test0", "unit-test1"]}


def test_update_config(ns: CoreClient) -> None:
    """An unknown key answers 0, as in Java; here the remark says that it was not taken."""
    reply = ns.ask(318, None, b"{key=value}")
    assert reply.code == 0
    assert reply.remark is not None
    assert "{key" in reply.remark

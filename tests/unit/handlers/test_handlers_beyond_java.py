"""The intended differences from Java in docs/compatibility.md, request by request."""

import json
import zlib

import pytest

from routebook.events import BrokerUp, RequestDenied
from routebook.model import BrokerKey
from tests.support.core_client import CoreClient, parsed, register_body

BROKER = {
    "clusterName": "c",
    "brokerName": "b",
    "brokerAddr": "127.0.0.1:10911",
    "brokerId": "0",
    "haServerAddr": "127.0.0.1:10912",
}


def without(field: str) -> dict[str, str]:
    return {key: value for key, value in BROKER.items() if key != field}


def is_empty(ns: CoreClient) -> bool:
    return ns.ask(106).body == b'{"brokerAddrTable":{},"clusterAddrTable":{}}' and ns.events == []


@pytest.mark.parametrize("field", ["clusterName", "brokerName", "brokerAddr", "brokerId"])
@pytest.mark.parametrize("code", [103, 104])
def test_missing_names_are_rejected(code: int, field: str) -> None:
    ns = CoreClient()
    reply = ns.ask(code, without(field), register_body("t", "u"))
    assert reply.code == 1
    assert field in (reply.remark or "")
    assert is_empty(ns)


@pytest.mark.parametrize("field", ["clusterName", "brokerName", "brokerAddr", "haServerAddr", "__ZONE_NAME"])
@pytest.mark.parametrize("bad", ["a\nb", "a\x00", "\x1b[31m", "\x7f", "\u2028"])
def test_control_characters_are_rejected(field: str, bad: str) -> None:
    ns = CoreClient()
    reply = ns.ask(103, {**BROKER, field: bad}, register_body("t", "u"))
    assert reply.code == 1
    assert field in (reply.remark or "")
    assert "\n" not in (reply.remark or "")
    assert is_empty(ns)


def test_control_characters_in_topics_are_rejected() -> None:
    ns = CoreClient()
    reply = ns.ask(103, BROKER, register_body("t", "x\ty"))
    assert (reply.code, reply.remark) == (1, "topic 'x\\ty' contains a control character: nothing was changed")
    assert is_empty(ns)


def test_rejected_registrations_change_nothing() -> None:
    ns = CoreClient()
    assert ns.ask(103, BROKER, register_body("only")).remark == "register broker failed"
    assert ns.ask(103, BROKER, b"{bad").code == 1
    assert ns.ask(103, {**BROKER, "bodyCrc32": "1"}, register_body("t", "u")).remark == "crc32 not match"
    assert is_empty(ns)


def test_deflated_body_under_compressed_false_registers() -> None:
    ns = CoreClient()
    version = b'{"counter":1,"stateVersion":0,"timestamp":1}'
    parts = [b"TopicTest 4 4 6 SINGLE_TAG", b"Other 4 4 6 SINGLE_TAG"]
    plain = len(version).to_bytes(4, "big") + version + (2).to_bytes(4, "big")
    plain += b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    plain += b"\0\0\0\2[]" + b"\0\0\0\0"
    reply = ns.ask(103, {**BROKER, "compressed": "false"}, zlib.compress(plain, 9))
    assert reply.code == 0
    assert parsed(ns.ask(206)) == {"topicList": ["TopicTest", "Other"]}


def test_too_many_topics_are_rejected() -> None:
    ns = CoreClient(**{"routebook.maxTopicsPerRegistration": "2"})
    reply = ns.ask(103, BROKER, register_body("a", "b", "c"))
    assert reply.code == 1
    assert "2" in (reply.remark or "")
    assert is_empty(ns)


def test_late_104_of_an_old_connection_does_not_touch_the_new_registration() -> None:
    ns = CoreClient()
    ns.register("t", "u", connection=1)
    ns.register("t", "u", connection=2)  # the broker came back before its old connection was gone
    late = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerAddr": "127.0.0.1:10911", "brokerId": "0"}
    assert ns.ask(104, late, connection=1).code == 0
    assert ns.route("t").code == 0
    assert ns.ask(104, late, connection=2).code == 0
    assert ns.route("t").code == 17


def test_a_104_over_another_connection_is_applied() -> None:
    ns = CoreClient()
    ns.register("t", "u", connection=1)
    ask = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerAddr": "127.0.0.1:10911", "brokerId": "0"}
    assert ns.ask(104, ask, connection=7).code == 0
    assert ns.route("t").code == 17


def test_the_time_in_the_mapping_version_is_ignored() -> None:
    """A 5.x broker writes the current time there at every registration, and so never sends the same bytes twice."""
    ns = CoreClient()

    def body(counter: int, written_ms: int) -> bytes:
        stamp = f'"mappingDataVersion":{{"counter":0,"stateVersion":0,"timestamp":{written_ms}}},"topicConfigTable"'
        return register_body("t", "u", counter=counter).replace(b'"topicConfigTable"', stamp.encode())

    def register(data: bytes) -> int:
        return ns.ask(103, {**BROKER, "bodyCrc32": str(zlib.crc32(data) & 0x7FFFFFFF)}, data).code

    assert register(body(1, 1000)) == 0
    lease = ns.nameserver.routes.lease_table[BrokerKey("c", "127.0.0.1:10911")]
    read_once = lease.data_version
    assert register(body(1, 2000)) == 0
    assert lease.data_version is read_once  # the body was not even read
    assert register(body(2, 3000)) == 0
    assert lease.data_version != read_once
    assert ns.ask(103, {**BROKER, "bodyCrc32": "1"}, body(2, 3000)).remark == "crc32 not match"


def test_an_unchanged_registration_is_not_decoded_again() -> None:
    ns = CoreClient()
    ns.register("t", "u")
    before = ns.nameserver.routes.revision
    assert ns.register("t", "u").code == 0
    assert ns.nameserver.routes.revision == before
    assert [type(event) for event in ns.events].count(BrokerUp) == 1


@pytest.mark.parametrize(
    "line",
    [
        "kvConfigPath=/etc/passwd",
        "configStorePath=/root/.ssh/authorized_keys",
        "configBlackList=nothing",
        "rocketmqHome=/tmp",
        "bindAddress=0.0.0.0",
        "listenPort=1",
        "routebook.maxInflatedBytes=1",
        "enableTopicList=false\nkvConfigPath=/x",
    ],
)
def test_settings_that_never_change_over_the_wire(line: str) -> None:
    """CVE-2023-37582: with the store path and a value of the sender's choice, Java wrote files to any path."""
    ns = CoreClient()
    before = ns.ask(319).body
    outcome = ns.outcome(318, None, line.encode())
    assert outcome.reply is not None
    assert (outcome.reply.code, outcome.effects) == (16, ())
    assert isinstance(outcome.events[0], RequestDenied)
    assert ns.ask(319).body == before


def test_settings_that_are_not_applied_are_listed() -> None:
    ns = CoreClient()
    body = b"noSuchKey=1\nwaitSecondsForService=soon\nserverWorkerThreads=4\norderMessageEnable=true\n"
    reply = ns.ask(318, None, body)
    assert reply.code == 0
    for key in ("noSuchKey", "waitSecondsForService", "serverWorkerThreads"):
        assert key in (reply.remark or "")
    assert "orderMessageEnable" not in (reply.remark or "")
    assert b"orderMessageEnable=true\n" in (ns.ask(319).body or b"")
    assert b"serverWorkerThreads=8\n" in (ns.ask(319).body or b"")


def test_other_codes_work_in_cluster_test() -> None:
    ns = CoreClient(clusterTest="true")
    assert ns.register("t", "u").code == 0
    assert parsed(ns.ask(206)) == {"topicList": ["t", "u"]}


def test_remarks_describe_the_problem() -> None:
    ns = CoreClient()
    for code, ext, body in [
        (103, BROKER, b"{bad"),
        (322, None, None),
        (904, None, None),
        (217, {"topic": "t"}, b"{bad"),
    ]:
        reply = ns.ask(code, ext, body)
        assert reply.code == 1
        assert reply.remark
        assert "Exception" not in reply.remark


def test_static_mappings_are_removed_with_their_broker() -> None:
    ns = CoreClient()
    body = json.loads(register_body("t", "u"))
    info = {"bname": "b", "currIdMap": {"0": 0}, "dirty": False, "epoch": 1, "topic": "t", "totalQueues": 4}
    body["topicConfigSerializeWrapper"]["topicQueueMappingInfoMap"] = {"t": info}
    ns.ask(103, BROKER, json.dumps(body).encode())
    assert "topicQueueMappingByBroker" in parsed(ns.route("t"))
    ns.ask(104, BROKER)
    ns.ask(103, BROKER, register_body("t", "u"))
    assert "topicQueueMappingByBroker" not in parsed(ns.route("t"))

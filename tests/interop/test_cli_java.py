"""Every command against the Java NameServer and against Routebook: the same output from both."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.model import Registration
from tests.support.command_line import CommandResult, routebook
from tests.support.java import java_broker, java_nameserver
from tests.support.process import serving
from tests.support.registered_brokers import broker, registered, topic
from tests.support.remoting import eventually

A_TOPICS = (
    topic("orders"),
    topic("payments", read=4, write=3),
    topic("unit", flag=1),
    topic("subscribed", flag=2),
    topic("b-a", read=1, write=1),
)
BROKERS: list[Registration] = [
    broker("b-a", *A_TOPICS, addr="127.0.0.1:21001"),
    broker("b-a", *A_TOPICS, addr="127.0.0.1:21002", broker_id=1),
    broker("b-b", topic("orders"), topic("only-b"), addr="127.0.0.1:21003"),
    broker("b-c", topic("headless"), topic("b-c"), cluster="c2", addr="127.0.0.1:21004", broker_id=2),
]


@pytest.fixture(scope="module", params=[pytest.param("java", marks=pytest.mark.java), "routebook"])
def bare_address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A NameServer that all tests of this file share."""
    home: Path = tmp_path_factory.mktemp(request.param)
    if request.param == "java":
        with java_nameserver(home) as (host, port):
            yield f"{host}:{port}"
    else:
        with serving(home) as process:
            yield f"{process.host}:{process.port}"


@pytest.fixture
def address(bare_address: str) -> Iterator[str]:
    """The same NameServer, with the same brokers for each test."""
    with registered(bare_address, BROKERS):
        yield bare_address


def ask(address: str, line: str) -> CommandResult:
    return routebook(*line.split(), "-n", address, "--timeout", "60")


def answer(address: str, line: str) -> str:
    """The output of a successful command."""
    ran = ask(address, line)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran.out


def document(address: str, line: str) -> object:
    value: object = json.loads(answer(address, f"{line} --json"))
    return value


def test_route_command(address: str) -> None:
    assert answer(address, "route orders").splitlines() == [
        "BROKER  CLUSTER  PERM  READ  WRITE  ADDRESSES",
        "b-a     c1       RW-      8      8  0=127.0.0.1:21001 1=127.0.0.1:21002",
        "b-b     c1       RW-      8      8  0=127.0.0.1:21003",
    ]
    assert document(address, "route payments") == {
        "topic": "payments",
        "brokerDatas": [
            {
                "brokerAddrs": {"0": "127.0.0.1:21001", "1": "127.0.0.1:21002"},
                "brokerName": "b-a",
                "cluster": "c1",
                "enableActingMaster": False,
            }
        ],
        "filterServerTable": {},
        "queueDatas": [{"brokerName": "b-a", "perm": 6, "readQueueNums": 4, "topicSysFlag": 0, "writeQueueNums": 3}],
    }
    assert answer(address, "route headless --queues").splitlines()[1:] == [
        "b-c     c2       RW-      8      8  2=127.0.0.1:21004 (no master)",
        "publish: 0 queues: none",
        "subscribe: 8 queues: b-c/0, b-c/1, b-c/2, b-c/3, b-c/4, b-c/5, b-c/6, b-c/7",
    ]
    ran = ask(address, "route absent")
    remark = "No topic route info in name server for the topic: absent"
    assert ran == (1, "", f"routebook: {address}: {remark}\n")


def test_topics_command(address: str) -> None:
    everything = ["b-a", "b-c", "headless", "only-b", "orders", "payments", "subscribed", "unit"]
    assert answer(address, "topics").splitlines() == everything
    assert document(address, "topics") == everything
    assert answer(address, "topics --cluster c2").splitlines() == ["b-c", "headless"]
    assert ask(address, "topics --cluster c9") == (1, "", "routebook: cluster c9 is unknown\n")
    assert answer(address, "topics --system").splitlines() == ["b-a", "b-b", "b-c", "c1", "c2"]
    assert answer(address, "topics --unit").splitlines() == ["unit"]
    assert answer(address, "topics --unit-subscribed").splitlines() == ["subscribed"]
    assert answer(address, "topics --unit-subscribed-plain").splitlines() == ["subscribed"]
    assert answer(address, "topics --long --cluster c1").splitlines() == [
        "TOPIC       CLUSTER  BROKERS   READ  WRITE  PERM",
        "b-a         c1       b-a          1      1  RW-",
        "only-b      c1       b-b          8      8  RW-",
        "orders      c1       b-a, b-b    16     16  RW-",
        "payments    c1       b-a          4      3  RW-",
        "subscribed  c1       b-a          8      8  RW-",
        "unit        c1       b-a          8      8  RW-",
    ]


def test_brokers_and_clusters_commands(address: str) -> None:
    assert answer(address, "brokers").splitlines() == [
        "CLUSTER  BROKER  ID  ROLE    ADDRESS",
        "c1       b-a      0  master  127.0.0.1:21001",
        "c1       b-a      1  slave   127.0.0.1:21002",
        "c1       b-b      0  master  127.0.0.1:21003",
        "c2       b-c      2  slave   127.0.0.1:21004",
    ]
    assert document(address, "brokers b-c") == [
        {
            "cluster": "c2",
            "broker": "b-c",
            "zone": None,
            "enableActingMaster": False,
            "members": [{"id": 2, "role": "slave", "address": "127.0.0.1:21004"}],
        }
    ]
    assert len(answer(address, "brokers --cluster c1").splitlines()) == 4
    assert ask(address, "brokers nowhere") == (1, "", "routebook: unknown: broker nowhere\n")
    assert ask(address, "brokers --cluster c9") == (1, "", "routebook: unknown: cluster c9\n")
    assert answer(address, "clusters").splitlines() == [
        "CLUSTER  BROKERS   MEMBERS  WITHOUT MASTER",
        "c1       b-a, b-b        3  -",
        "c2       b-c             1  b-c",
    ]
    assert document(address, "clusters") == [
        {"cluster": "c1", "brokers": ["b-a", "b-b"], "members": 3, "withoutMaster": []},
        {"cluster": "c2", "brokers": ["b-c"], "members": 1, "withoutMaster": ["b-c"]},
    ]


def test_broker_commands(address: str) -> None:
    assert answer(address, "broker members b-a").splitlines() == [
        "ID  ROLE    ADDRESS",
        " 0  master  127.0.0.1:21001",
        " 1  slave   127.0.0.1:21002",
    ]
    assert ask(address, "broker members nowhere") == (1, "", "routebook: broker nowhere has no registered member\n")
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1_700_000_000_000}
    assert document(address, "broker version b-b") == {address: {"127.0.0.1:21003": version}}
    assert ask(address, "broker version nowhere") == (1, "", f"routebook: {address}: broker nowhere is unknown\n")
    assert answer(address, "broker wipe b-a") == f"{address}: 5 topics of b-a are no longer writable\n"
    assert "b-a     c1       R--" in answer(address, "route orders")
    assert document(address, "broker restore b-a") == {address: {"ok": True, "result": "5 topics of b-a are writable"}}
    assert "b-a     c1       RW-" in answer(address, "route orders")
    unknown = "no topic of broker nowhere is registered; nothing changed"
    assert ask(address, "broker wipe nowhere") == (1, "", f"routebook: {address}: {unknown}\n")


def test_topic_commands(address: str) -> None:
    registering = "topic register new --broker b-a --broker b-b --read 2 --write 1 --perm r"
    assert answer(address, registering) == f"{address}: new is on b-a, b-b\n"
    assert answer(address, "route new").splitlines()[1:] == [
        "b-a     c1       R--      2      1  0=127.0.0.1:21001 1=127.0.0.1:21002",
        "b-b     c1       R--      2      1  0=127.0.0.1:21003",
    ]
    ran = ask(address, "topic register newer --broker b-a --broker nowhere")
    assert ran == (1, "", f"routebook: {address}: newer is not registered: unknown broker nowhere\n")
    refused = "new remains on b-a, b-b, outside cluster c9"
    assert ask(address, "topic delete new --cluster c9") == (1, "", f"routebook: {address}: {refused}\n")
    assert answer(address, "topic delete new --cluster c1") == f"{address}: new is deleted\n"
    assert answer(address, "topic delete new") == f"{address}: new does not exist\n"


def test_order_topic_configuration(address: str) -> None:
    assert answer(address, "topic order orders b-a:4;b-b:4") == f"{address}: the order of orders is b-a:4;b-b:4\n"
    assert answer(address, "topic order orders") == "b-a:4;b-b:4\n"
    assert answer(address, "config set orderMessageEnable=true") == f"{address}: orderMessageEnable=true\n"
    assert answer(address, "route orders --queues").splitlines()[3:5] == [
        "ordered: b-a:4;b-b:4",
        "publish: 8 ordered queues: b-a/0, b-a/1, b-a/2, b-a/3, b-b/0, b-b/1, b-b/2, b-b/3",
    ]
    assert answer(address, "config set orderMessageEnable=FALSE").startswith(f"{address}: orderMessageEnable=")
    assert answer(address, "topic order orders --delete") == f"{address}: orders has no order\n"
    remark = "No config item, Namespace: ORDER_TOPIC_CONFIG Key: orders"
    assert ask(address, "topic order orders") == (1, "", f"routebook: {address}: {remark}\n")


def test_kv_commands(address: str) -> None:
    missing = "No config item, Namespace: shop Key: open"
    assert ask(address, "kv get shop open") == (1, "", f"routebook: {address}: {missing}\n")
    assert ask(address, "kv list shop") == (1, "", f"routebook: {address}: No config item, Namespace: shop\n")
    assert answer(address, "kv put shop open yes") == f"{address}: shop/open is yes\n"
    assert answer(address, "kv get shop open") == "yes\n"
    assert document(address, "kv get shop open") == {"namespace": "shop", "key": "open", "value": "yes"}
    assert document(address, "kv put shop é ü=1;2") == {address: {"ok": True, "result": "shop/é is ü=1;2"}}
    assert answer(address, "kv list shop").splitlines() == ["KEY   VALUE", "open  yes", "é     ü=1;2"]
    assert document(address, "kv list shop") == {"open": "yes", "é": "ü=1;2"}
    assert answer(address, "kv delete shop open") == f"{address}: shop/open is deleted\n"
    assert answer(address, "kv delete shop é") == f"{address}: shop/é is deleted\n"
    assert answer(address, "kv list shop") == ""


def test_config_commands(address: str) -> None:
    assert "enableTopicList=true\n" in answer(address, "config get")
    assert answer(address, "config get enableTopicList") == "enableTopicList=true\n"
    assert document(address, "config get enableTopicList") == {address: {"enableTopicList": "true"}}
    assert ask(address, "config get nonsense") == (1, "", f"routebook: {address}: no setting nonsense\n")
    ran = ask(address, "config set nonsense=1")
    assert (ran.code, ran.out) == (1, "")
    assert re.match(rf"routebook: {address}: not (changed|applied): nonsense", ran.err)
    ran = ask(address, "config set kvConfigPath=/elsewhere")
    assert ran == (1, "", f"routebook: {address}: Can not update config in black list.\n")


def test_writes_go_to_every_nameserver_and_report_each_result(address: str, tmp_path: Path) -> None:
    with serving(tmp_path) as other:
        second, dead = f"{other.host}:{other.port}", "127.0.0.1:1"
        ran = ask(f"{address};{dead};{second}", "kv put stall all yes")
        assert ran.code == 3
        assert ran.out == f"{address}: stall/all is yes\n{second}: stall/all is yes\n"
        assert ran.err == f"routebook: {dead}: refused the connection: nothing listens there\n"
        ran = ask(f"{address};{second}", "broker wipe b-b")
        assert ran.code == 1
        assert ran.out == f"{address}: 2 topics of b-b are no longer writable\n"
        assert ran.err == f"routebook: {second}: no topic of broker b-b is registered; nothing changed\n"
        assert answer(address, "broker restore b-b").endswith("are writable\n")
        assert answer(f"{address};{second}", "kv delete stall all").count("is deleted") == 2
        table = answer(f"{address};{second}", "config get enableTopicList").splitlines()
        assert table[0].split() == ["SETTING", address, second]
        assert table[1].split() == ["enableTopicList", "true", "true"]


def test_doctor_command(address: str) -> None:
    ran = ask(address, "doctor")
    assert ran.code == 1
    assert ran.out.splitlines()[0] == "error: broker b-c of cluster c2 has no master: clients cannot publish to it"
    assert ran.out.splitlines()[-1].endswith("checked 1 NameServer, 4 brokers, 8 topics")
    found = document_of(ran_json(address))
    assert {finding["check"] for finding in found} == {"master", "reachable", "placement", "nameserver"}


def ran_json(address: str) -> str:
    return ask(address, "doctor --json").out


def document_of(text: str) -> list[dict[str, str]]:
    findings: list[dict[str, str]] = json.loads(text)["findings"]
    return findings


def test_diff_of_java_and_routebook_with_the_same_routes_is_empty(address: str, tmp_path: Path) -> None:
    """Also of their settings: Routebook has Java's defaults."""
    with serving(tmp_path) as other:
        second = f"{other.host}:{other.port}"
        with registered(second, BROKERS):
            ran = routebook("diff", address, second, "--timeout", "60")
    assert ran == (0, "2 NameServers agree: 3 brokers, 8 topics\n", "")


@pytest.mark.java
@pytest.mark.third_party
def test_doctor_of_a_real_broker(tmp_path: Path) -> None:
    with serving(tmp_path / "ns") as process:
        address = f"{process.host}:{process.port}"
        with java_broker(tmp_path / "broker", nameserver=process.address):
            eventually(lambda: ask(address, "route TBW102").code == 0, "the broker has registered", within_s=180)
            found = ask(address, "doctor --json")
    assert found.code == 0, found
    assert {finding["check"] for finding in document_of(found.out)} <= {"nameserver", "placement"}

"""Requests: the server decodes what the client encodes; invalid responses are errors."""

from typing import Any

import pytest

from routebook.client import requests
from routebook.client.registration import encode_registration_body
from routebook.errors import ProtocolError
from routebook.handlers import HANDLERS
from routebook.model import DataVersion, QueueData, RegisterBody, Registration, TopicConfig, TopicQueueMappingInfo
from routebook.properties import decode_wire, parse
from routebook.wire.command import Command
from routebook.wire.register_body import decode_register_body
from routebook.wire.request_bodies import decode_data_version, decode_topic_route

VERSION = DataVersion(counter=3, state_version=1, timestamp=1_700_000_000_000)
BODY = RegisterBody(
    topics=(
        TopicConfig(topic_name="TopicTest", perm=6, read_queue_nums=4, topic_sys_flag=2, write_queue_nums=5),
        TopicConfig(topic_name="тема-集", perm=7),
    ),
    data_version=VERSION,
    mappings={
        "st": TopicQueueMappingInfo(
            bname="broker-a",
            curr_id_map={0: 0, 10: 3},
            dirty=False,
            epoch=5,
            scope="__global__",
            topic="st",
            total_queues=8,
        )
    },
    filter_servers=("10.0.0.1:1",),
)
MASTER = Registration(
    cluster="c",
    broker="broker-a",
    addr="127.0.0.1:10911",
    broker_id=0,
    ha_addr="127.0.0.1:10912",
    timeout_ms=None,
    acting_master=False,
    zone=None,
    body=BODY,
)


def answer(**fields: object) -> Command:
    return Command(code=0, opaque=1, flag=1, **fields)  # type: ignore[arg-type]  # what a test wants


def test_every_request_code_of_the_server_has_a_method() -> None:
    made: list[requests.Request[Any]] = [
        requests.route("t"),
        requests.cluster_info(),
        requests.topics(),
        requests.topics_of_cluster("c"),
        requests.system_topics(),
        requests.unit_topics(),
        requests.unit_subscribed_topics(),
        requests.unit_subscribed_plain_topics(),
        requests.get_kv("n", "k"),
        requests.put_kv("n", "k", "v"),
        requests.delete_kv("n", "k"),
        requests.list_kv("n"),
        requests.settings(),
        requests.update_settings({"k": "v"}),
        requests.wipe_write("b"),
        requests.restore_write("b"),
        requests.delete_topic("t"),
        requests.register_topic("t", []),
        requests.member_group("c", "b"),
        requests.query_data_version(VERSION, cluster="c", broker="b", addr="h:1", broker_id=0),
        requests.register_broker(MASTER),
        requests.unregister_broker(cluster="c", broker="b", addr="h:1", broker_id=0),
        requests.heartbeat(cluster="c", broker="b", addr="h:1"),
    ]
    assert sorted(request.code for request in made) == sorted(HANDLERS)


def test_the_server_decodes_a_registration() -> None:
    request = requests.register_broker(MASTER)
    assert decode_register_body(request.body, version=513, compressed=False, now_ms=0) == BODY
    assert {name: value for name, value in (request.ext or {}).items() if name != "bodyCrc32"} == {
        "brokerAddr": "127.0.0.1:10911",
        "brokerId": "0",
        "brokerName": "broker-a",
        "clusterName": "c",
        "compressed": "false",
        "enableActingMaster": "false",
        "haServerAddr": "127.0.0.1:10912",
    }


def test_a_deflated_registration_loses_the_system_flag_and_nothing_else() -> None:
    body = encode_registration_body(BODY, compressed=True)
    read = decode_register_body(body, version=513, compressed=True, now_ms=0)
    first, second = BODY.topics or ()
    kept = TopicConfig(topic_name=first.topic_name, perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=5)
    assert read.topics == (kept, second)
    assert (read.data_version, read.mappings, read.filter_servers) == (VERSION, BODY.mappings, BODY.filter_servers)


def test_optional_fields_of_a_registration() -> None:
    slave = Registration(
        cluster="c",
        broker="b",
        addr="h:1",
        broker_id=1,
        ha_addr=None,
        timeout_ms=10_000,
        acting_master=True,
        zone="Z",
        body=BODY,
    )
    ext = requests.register_broker(slave, compressed=True).ext or {}
    assert (ext["heartbeatTimeoutMillis"], ext["enableActingMaster"], ext["__ZONE_NAME"]) == ("10000", "true", "Z")
    assert ext["compressed"] == "true"
    assert "haServerAddr" not in ext


def test_the_server_decodes_other_bodies() -> None:
    queue = QueueData(broker_name="b", perm=6, read_queue_nums=8, topic_sys_flag=0, write_queue_nums=4)
    assert decode_topic_route(requests.register_topic("t", [queue]).body) == [queue]
    check = requests.query_data_version(VERSION, cluster="c", broker="b", addr="h:1", broker_id=0)
    assert decode_data_version(check.body, now_ms=0) == VERSION


def test_settings_are_escaped_for_java() -> None:
    changes = {"a key": " value", "k": "é集😀\\\n#=", "empty": ""}
    body = requests.update_settings(changes).body
    assert body is not None
    assert {entry.key: entry.value for entry in parse(decode_wire(body))} == changes


def test_settings_are_read_as_printed() -> None:
    text = "a=1\nhome=C:\\dir=x\n\nb=\nkey with blank = v\n"
    expected = {"a": "1", "home": "C:\\dir=x", "b": "", "key with blank ": " v"}
    assert requests.settings().read(answer(body=text.encode())) == expected


def test_the_fields_of_a_zone_request() -> None:
    assert requests.route("t", zone="Z").ext == {"topic": "t", "__ZONE_MODE": "true", "__ZONE_NAME": "Z"}


@pytest.mark.parametrize(
    ("request_", "ext", "body"),
    [
        (requests.get_kv("n", "k"), {}, None),
        (requests.wipe_write("b"), {}, None),
        (requests.restore_write("b"), {"addTopicCount": "many"}, None),
        (requests.settings(), None, b"\xff"),
        (requests.route("t"), None, None),
        (requests.list_kv("n"), None, b"[]"),
        (requests.query_data_version(VERSION, cluster="c", broker="b", addr="h:1", broker_id=0), {}, None),
    ],
)
def test_invalid_responses(
    request_: requests.Request[object], ext: dict[str, str | None] | None, body: bytes | None
) -> None:
    with pytest.raises(ProtocolError):
        request_.read(answer(ext=ext, body=body))

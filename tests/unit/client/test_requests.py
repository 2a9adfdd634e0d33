"""Requests: the server decodes what the client encodes; invalid responses are errors."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from routebook.client.calls import NameServerCalls
from routebook.client.registration import encode_registration_body
from routebook.client.requests import Request
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


T = TypeVar("T")


class Recorder(NameServerCalls):
    """Keeps the request instead of sending it."""

    def __init__(self) -> None:
        self.request: Request[Any] | None = None

    async def ask(self, request: Request[T], *, timeout_s: float | None = None) -> T:
        self.request = request
        return None  # type: ignore[return-value]  # no response is decoded here

    async def tell(self, request: Request[T], *, timeout_s: float | None = None) -> None:
        raise NotImplementedError

    async def call(self, command: Command, *, timeout_s: float | None = None) -> Command:
        raise NotImplementedError


def request_of(call: Callable[[Recorder], Awaitable[object]]) -> Request[Any]:
    """Return the request that a call sends."""

    async def work() -> Request[Any]:
        recorder = Recorder()
        await call(recorder)
        assert recorder.request is not None
        return recorder.request

    return asyncio.run(work())


def answer(**fields: object) -> Command:
    return Command(code=0, opaque=1, flag=1, **fields)  # type: ignore[arg-type]  # what a test wants


def test_every_request_code_of_the_server_has_a_method() -> None:
    calls: list[Callable[[Recorder], Awaitable[object]]] = [
        lambda server: server.route("t"),
        lambda server: server.cluster_info(),
        lambda server: server.topics(),
        lambda server: server.topics_of_cluster("c"),
        lambda server: server.system_topics(),
        lambda server: server.unit_topics(),
        lambda server: server.unit_subscribed_topics(),
        lambda server: server.unit_subscribed_plain_topics(),
        lambda server: server.get_kv("n", "k"),
        lambda server: server.put_kv("n", "k", "v"),
        lambda server: server.delete_kv("n", "k"),
        lambda server: server.list_kv("n"),
        lambda server: server.settings(),
        lambda server: server.update_settings({"k": "v"}),
        lambda server: server.wipe_write("b"),
        lambda server: server.restore_write("b"),
        lambda server: server.delete_topic("t"),
        lambda server: server.register_topic("t", []),
        lambda server: server.member_group("c", "b"),
        lambda server: server.query_data_version(VERSION, cluster="c", broker="b", addr="h:1", broker_id=0),
        lambda server: server.register_broker(MASTER),
        lambda server: server.unregister_broker(cluster="c", broker="b", addr="h:1", broker_id=0),
        lambda server: server.heartbeat(cluster="c", broker="b", addr="h:1"),
    ]
    assert sorted(request_of(call).code for call in calls) == sorted(HANDLERS)


def test_the_server_decodes_a_registration() -> None:
    request = request_of(lambda server: server.register_broker(MASTER))
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
    ext = request_of(lambda server: server.register_broker(slave, compressed=True)).ext or {}
    assert (ext["heartbeatTimeoutMillis"], ext["enableActingMaster"], ext["__ZONE_NAME"]) == ("10000", "true", "Z")
    assert ext["compressed"] == "true"
    assert "haServerAddr" not in ext


def test_the_server_decodes_other_bodies() -> None:
    queue = QueueData(broker_name="b", perm=6, read_queue_nums=8, topic_sys_flag=0, write_queue_nums=4)
    assert decode_topic_route(request_of(lambda server: server.register_topic("t", [queue])).body) == [queue]
    check = request_of(
        lambda server: server.query_data_version(VERSION, cluster="c", broker="b", addr="h:1", broker_id=0)
    )
    assert decode_data_version(check.body, now_ms=0) == VERSION


def test_settings_are_escaped_for_java() -> None:
    changes = {"a key": " value", "k": "é集😀\\\n#=", "empty": ""}
    body = request_of(lambda server: server.update_settings(changes)).body
    assert body is not None
    assert {entry.key: entry.value for entry in parse(decode_wire(body))} == changes


def test_settings_are_read_as_printed() -> None:
    text = "a=1\nhome=C:\\dir=x\n\nb=\nkey with blank = v\n"
    expected = {"a": "1", "home": "C:\\dir=x", "b": "", "key with blank ": " v"}
    assert request_of(Recorder.settings).read(answer(body=text.encode())) == expected


def test_the_fields_of_a_zone_request() -> None:
    assert request_of(lambda server: server.route("t", zone="Z")).ext == {
        "topic": "t",
        "__ZONE_MODE": "true",
        "__ZONE_NAME": "Z",
    }


@pytest.mark.parametrize(
    ("call", "ext", "body"),
    [
        (lambda server: server.get_kv("n", "k"), {}, None),
        (lambda server: server.wipe_write("b"), {}, None),
        (lambda server: server.restore_write("b"), {"addTopicCount": "many"}, None),
        (lambda server: server.settings(), None, b"\xff"),
        (lambda server: server.route("t"), None, None),
        (lambda server: server.list_kv("n"), None, b"[]"),
        (lambda server: server.query_data_version(VERSION, cluster="c", broker="b", addr="h:1", broker_id=0), {}, None),
    ],
)
def test_invalid_responses(
    call: Callable[[Recorder], Awaitable[object]], ext: dict[str, str | None] | None, body: bytes | None
) -> None:
    with pytest.raises(ProtocolError):
        request_of(call).read(answer(ext=ext, body=body))

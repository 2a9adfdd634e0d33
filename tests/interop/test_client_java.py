"""Every method of the client against the Java NameServer and against Routebook: the same replies from both."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from routebook.client import (
    Credentials,
    Identity,
    NameServerClient,
    OneNameServer,
    RouteChange,
    RouteWatcher,
    publish_queues,
    unverified_tls,
)
from routebook.codes import RequestCode
from routebook.errors import BadRequest, Denied, NotFound, TopicNotExist, Unsupported
from routebook.model import (
    DataVersion,
    MemberGroup,
    QueueData,
    RegisterBody,
    Registration,
    TopicConfig,
    TopicQueueMappingInfo,
)
from routebook.wire.command import Command, SerializeType
from tests.support.asynchronous import asynchronous
from tests.support.java import java_nameserver
from tests.support.process import serving

VERSION = DataVersion(counter=1, state_version=0, timestamp=1_700_000_000_000)
TOPICS = (
    TopicConfig(topic_name="plain", read_queue_nums=4, write_queue_nums=3),
    TopicConfig(topic_name="unit", topic_sys_flag=1, read_queue_nums=1, write_queue_nums=1),
    TopicConfig(topic_name="sub", topic_sys_flag=2, read_queue_nums=1, write_queue_nums=1),
    TopicConfig(topic_name="static", read_queue_nums=1, write_queue_nums=1),
)
STATIC = TopicQueueMappingInfo(
    bname="b", curr_id_map={0: 0, 2: 1}, dirty=False, epoch=1, scope="__global__", topic="static", total_queues=3
)


@pytest.fixture(scope="module", params=[pytest.param("java", marks=pytest.mark.java), "routebook"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A NameServer that all tests of this file share; each test uses its own names."""
    home: Path = tmp_path_factory.mktemp(request.param)
    if request.param == "java":
        with java_nameserver(home) as (host, port):
            yield f"{host}:{port}"
    else:
        with serving(home) as process:
            host, port = process.address
            yield f"{host}:{port}"


def registration(name: str, *, broker_id: int = 0, zone: str | None = None, prefix: str = "") -> Registration:
    topics = tuple(
        TopicConfig(
            topic_name=prefix + topic.topic_name,
            perm=topic.perm,
            read_queue_nums=topic.read_queue_nums,
            topic_sys_flag=topic.topic_sys_flag,
            write_queue_nums=topic.write_queue_nums,
        )
        for topic in TOPICS
    )
    mapping = TopicQueueMappingInfo(
        bname=name,
        curr_id_map=STATIC.curr_id_map,
        dirty=False,
        epoch=1,
        scope="__global__",
        topic=f"{prefix}static",
        total_queues=3,
    )
    return Registration(
        cluster=f"{name}-cluster",
        broker=name,
        addr=f"127.0.0.1:{10911 + broker_id}",
        broker_id=broker_id,
        ha_addr=f"127.0.0.1:{20911 + broker_id}",
        timeout_ms=None,
        acting_master=False,
        zone=zone,
        body=RegisterBody(
            topics=topics, data_version=VERSION, mappings={f"{prefix}static": mapping}, filter_servers=("10.0.0.1:1",)
        ),
    )


@asynccontextmanager
async def registered(
    address: str, name: str, *, zone: str | None = None
) -> AsyncIterator[tuple[NameServerClient, Registration]]:
    """A client with a registered broker of this name; its topics start with the name."""
    wanted = registration(name, prefix=f"{name}-", zone=zone)
    async with NameServerClient(address, timeout_s=20) as client:
        answer = await client.register_broker(wanted)
        assert (answer.ha_addr, answer.master_addr) == (None, None)
        yield client, wanted


@asynchronous
async def test_routes_clusters_and_topics(address: str) -> None:
    async with registered(address, "b1") as (client, wanted):
        route = await client.route("b1-plain")
        assert [data.broker_addrs for data in route.broker_datas] == [{0: wanted.addr}]
        assert route.queue_datas == [
            QueueData(broker_name="b1", perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=3)
        ]
        assert route.filter_server_table == {wanted.addr: ["10.0.0.1:1"]}
        assert route.topic_queue_mapping_by_broker is None
        assert len(publish_queues("b1-plain", route).queues) == 3

        static = await client.route("b1-static")
        assert {queue.broker for queue in publish_queues("b1-static", static).queues} == {"__syslo__global__"}

        info = await client.cluster_info()
        assert info.cluster_addr_table["b1-cluster"] == ["b1"]
        assert info.broker_addr_table["b1"] == route.broker_datas[0]

        mine = {f"b1-{topic.topic_name}" for topic in TOPICS}
        assert mine <= {*await client.topics()}
        assert {*await client.topics_of_cluster("b1-cluster")} == mine
        assert await client.topics_of_cluster("nowhere") == []
        system = await client.system_topics()
        assert {"b1", "b1-cluster"} <= {*system.topic_list}
        assert system.broker_addr is not None
        assert "b1-unit" in await client.unit_topics()
        assert "b1-sub" in await client.unit_subscribed_topics()
        assert "b1-sub" in await client.unit_subscribed_plain_topics()
        assert "b1-unit" not in await client.unit_subscribed_plain_topics()
        with pytest.raises(TopicNotExist, match="No topic route info in name server for the topic: absent"):
            await client.route("absent")


@asynchronous
async def test_old_clients_receive_the_plain_profile_and_the_client_reads_it(address: str) -> None:
    async with registered(address, "b2") as (client, _):
        old = Identity(version=317, language="GO")
        async with NameServerClient(address, identity=old, timeout_s=20) as old_client:
            raw = await old_client.call(
                Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 0, version=317, ext={"topic": "b2-static"})
            )
            assert b'{0:"' in (raw.body or b"")
            assert await old_client.route("b2-static") == await client.route("b2-static")


@asynchronous
async def test_members_and_versions(address: str) -> None:
    async with registered(address, "b3") as (client, wanted):
        slave = registration("b3", broker_id=1, prefix="b3-")
        answer = await client.register_broker(slave)
        assert (answer.master_addr, answer.ha_addr) == (wanted.addr, wanted.ha_addr)
        members = {0: wanted.addr, 1: slave.addr}
        group = await client.member_group("b3-cluster", "b3")
        assert group == MemberGroup(broker_addrs=members, broker_name="b3", cluster="b3-cluster")
        assert (await client.member_group("c", "absent")).broker_addrs == {}

        cluster, addr = "b3-cluster", wanted.addr
        same = await client.query_data_version(VERSION, cluster=cluster, broker="b3", addr=addr, broker_id=0)
        assert (same.changed, same.version) == (False, VERSION)
        newer = DataVersion(counter=2, state_version=0, timestamp=1)
        other = await client.query_data_version(newer, cluster=cluster, broker="b3", addr=addr, broker_id=0)
        assert (other.changed, other.version) == (True, VERSION)
        unknown = await client.query_data_version(VERSION, cluster="c", broker="x", addr="h:1", broker_id=0)
        assert (unknown.changed, unknown.version) == (True, None)
        await client.heartbeat(cluster=cluster, broker="b3", addr=addr)
        await client.heartbeat(cluster=cluster, broker="b3", addr=addr, oneway=True)

        await client.unregister_broker(cluster=cluster, broker="b3", addr=addr, broker_id=0)
        gone = RouteWatcher(client, ["b3-plain"], every_s=0.05)
        async with asyncio.timeout(20):
            async for event in gone:
                assert isinstance(event, RouteChange)
                if event.after is not None and 0 not in event.after.broker_datas[0].broker_addrs:
                    break
        assert (await client.member_group(cluster, "b3")).broker_addrs == {1: slave.addr}


@asynchronous
async def test_a_closed_connection_removes_its_broker_and_notifies_a_watcher(address: str) -> None:
    async with NameServerClient(address, timeout_s=20) as other:
        async with registered(address, "b4"):
            events = aiter(RouteWatcher(other, ["b4-plain"], every_s=0.05))
            up = await anext(events)
            assert isinstance(up, RouteChange)
            assert up.after is not None
        async with asyncio.timeout(20):
            assert await anext(events) == RouteChange("b4-plain", up.after, None)


@asynchronous
async def test_a_compressed_registration(address: str) -> None:
    async with NameServerClient(address, timeout_s=20) as client:
        await client.register_broker(registration("b5", prefix="b5-"), compressed=True)
        assert (await client.route("b5-static")).topic_queue_mapping_by_broker is not None
        assert (await client.route("b5-plain")).queue_datas[0].write_queue_nums == 3


@asynchronous
async def test_permissions_and_topics(address: str) -> None:
    async with registered(address, "b6") as (client, _):
        assert await client.wipe_write("b6") == len(TOPICS)
        assert (await client.route("b6-plain")).queue_datas[0].perm == 4
        assert await client.restore_write("b6") == len(TOPICS)
        assert (await client.route("b6-plain")).queue_datas[0].perm == 6
        assert await client.wipe_write("absent") == 0

        queue = QueueData(broker_name="b6", perm=6, read_queue_nums=2, topic_sys_flag=0, write_queue_nums=1)
        await client.register_topic("b6-new", [queue])
        assert (await client.route("b6-new")).queue_datas == [queue]
        await client.delete_topic("b6-new", cluster="absent")
        await client.route("b6-new")
        await client.delete_topic("b6-new", cluster="b6-cluster")
        await client.delete_topic("b6-plain")
        for topic in ("b6-new", "b6-plain"):
            with pytest.raises(TopicNotExist):
                await client.route(topic)


@asynchronous
async def test_zones(address: str) -> None:
    async with registered(address, "b7", zone="Z1") as (client, _):
        assert [data.zone_name for data in (await client.route("b7-plain", zone="z1")).broker_datas] == ["Z1"]
        assert (await client.route("b7-plain", zone="Z2")).broker_datas == []


@asynchronous
async def test_kv(address: str) -> None:
    async with NameServerClient(address, timeout_s=20) as client:
        with pytest.raises(NotFound, match="No config item, Namespace: ns1 Key: k"):
            await client.get_kv("ns1", "k")
        with pytest.raises(NotFound, match="No config item, Namespace: ns1"):
            await client.list_kv("ns1")
        for key, value in (("k", "a:4;b:4"), ("ключ", '集"\\/\n😀')):
            put = await client.everywhere(partial(OneNameServer.put_kv, namespace="ns1", key=key, value=value))
            assert put.all() == {address: None}
            assert await client.get_kv("ns1", key) == value
        assert await client.list_kv("ns1") == {"k": "a:4;b:4", "ключ": '集"\\/\n😀'}
        await client.delete_kv("ns1", "k")
        await client.delete_kv("ns1", "ключ")
        assert await client.list_kv("ns1") == {}


@asynchronous
async def test_an_order_topic_is_sent_to_brokers_and_clients(address: str) -> None:
    async with registered(address, "b8") as (client, wanted):
        await client.put_kv("ORDER_TOPIC_CONFIG", "b8-plain", "b8:2")
        await client.update_settings({"orderMessageEnable": "true"})
        answer = await client.register_broker(wanted)
        assert (answer.order_topics or {})["b8-plain"] == "b8:2"
        route = await client.route("b8-plain")
        await client.update_settings({"orderMessageEnable": "false"})
        published = publish_queues("b8-plain", route)
        assert published.ordered
        assert [queue.queue_id for queue in published.queues] == [0, 1]


@asynchronous
async def test_settings(address: str) -> None:
    async with NameServerClient(address, timeout_s=20) as client:
        assert (await client.settings())["enableTopicList"] == "true"
        await client.update_settings({"enableTopicList": "false"})
        assert (await client.settings())["enableTopicList"] == "false"
        await client.update_settings({"enableTopicList": "true"})
        with pytest.raises(Denied, match="black list"):
            await client.update_settings({"kvConfigPath": "/elsewhere"})


@asynchronous
async def test_refusals(address: str) -> None:
    async with NameServerClient(address, timeout_s=20) as client:
        answer = await client.call(Command(code=9999, opaque=0))
        assert (answer.code, answer.remark) == (3, " request type 9999 not supported")
        bad = registration("b9")
        one_topic = Registration(
            cluster="c",
            broker="b9",
            addr=bad.addr,
            broker_id=0,
            ha_addr=None,
            timeout_ms=None,
            acting_master=None,
            zone=None,
            body=RegisterBody(topics=TOPICS[:1], data_version=VERSION, mappings={}, filter_servers=()),
        )
        with pytest.raises(BadRequest, match="register broker failed"):
            await client.register_broker(one_topic)
        assert Unsupported.code == answer.code


@pytest.mark.parametrize("serialize_type", list(SerializeType))
@asynchronous
async def test_signed_binary_and_tls(address: str, serialize_type: SerializeType) -> None:
    """A NameServer ignores signatures, accepts both header forms, and serves TLS on the same port."""
    async with NameServerClient(
        address,
        timeout_s=20,
        connect_timeout_s=20,
        tls=unverified_tls(),
        credentials=Credentials(access_key="ak", secret_key="sk"),
        serialize_type=serialize_type,
    ) as client:
        await client.put_kv("ns2", "k", "v" * 100_000)
        assert await client.get_kv("ns2", "k") == "v" * 100_000
        values = await asyncio.gather(*(client.get_kv("ns2", "k") for _ in range(50)))
        assert {*values} == {"v" * 100_000}

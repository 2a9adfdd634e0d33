"""The client decodes what the server encodes, in both profiles; junk is a ProtocolError."""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.errors import ProtocolError
from routebook.model import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    MemberGroup,
    QueueData,
    TopicList,
    TopicQueueMappingInfo,
    TopicRoute,
)
from routebook.wire import bodies, reply_bodies

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tricky = st.sampled_from(['{0:"a"', ",1:2", '"', "\\", '\\"{3:', "{", "-4:"])
names = texts | tricky
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
addrs = st.dictionaries(int64, names, max_size=4)
brokers = st.builds(
    BrokerData,
    broker_addrs=addrs,
    broker_name=names,
    cluster=names,
    enable_acting_master=st.booleans(),
    zone_name=st.none() | names,
)
queue_datas = st.builds(
    QueueData, broker_name=names, perm=int32, read_queue_nums=int32, topic_sys_flag=int32, write_queue_nums=int32
)
mappings = st.builds(
    TopicQueueMappingInfo,
    bname=st.none() | names,
    curr_id_map=st.none() | st.dictionaries(int32, int32, max_size=4),
    dirty=st.booleans(),
    epoch=int64,
    scope=names,
    topic=st.none() | names,
    total_queues=int32,
)
routes = st.builds(
    TopicRoute,
    broker_datas=st.lists(brokers, max_size=3),
    filter_server_table=st.dictionaries(names, st.lists(names, max_size=2), max_size=2),
    order_topic_conf=st.none() | names,
    queue_datas=st.lists(queue_datas, max_size=3),
    topic_queue_mapping_by_broker=st.none() | st.dictionaries(names, mappings, min_size=1, max_size=2),
)
DECODERS: list[Callable[[bytes], object]] = [
    reply_bodies.decode_route,
    reply_bodies.decode_cluster_info,
    reply_bodies.decode_topic_list,
    reply_bodies.decode_kv_table,
    reply_bodies.decode_member_group,
    reply_bodies.decode_data_version,
]


@given(routes, st.booleans())
def test_routes(route: TopicRoute, standard: bool) -> None:
    assert reply_bodies.decode_route(bodies.encode_route(route, standard=standard)) == route


@given(st.dictionaries(names, brokers, max_size=3), st.dictionaries(names, st.lists(names, max_size=3), max_size=2))
def test_cluster_info(table: dict[str, BrokerData], clusters: dict[str, list[str]]) -> None:
    info = ClusterInfo(broker_addr_table=table, cluster_addr_table=clusters)
    assert reply_bodies.decode_cluster_info(bodies.encode_cluster_info(info)) == info


@given(st.lists(names), st.none() | names)
def test_topic_lists(topics: list[str], addr: str | None) -> None:
    listed = TopicList(broker_addr=addr, topic_list=topics)
    assert reply_bodies.decode_topic_list(bodies.encode_topic_list(listed)) == listed


@given(st.dictionaries(names, names))
def test_kv_tables(table: dict[str, str]) -> None:
    assert reply_bodies.decode_kv_table(bodies.encode_kv_table(table)) == table


@given(names, names, addrs)
def test_member_groups(cluster: str, broker: str, members: dict[int, str]) -> None:
    body = bodies.encode_member_group(cluster=cluster, broker=broker, addrs=members)
    expected = MemberGroup(broker_addrs=members, broker_name=broker, cluster=cluster)
    assert reply_bodies.decode_member_group(body) == expected


@given(st.none() | int64, int64, int64)
def test_data_versions(counter: int | None, state_version: int, timestamp: int) -> None:
    version = DataVersion(counter=counter, state_version=state_version, timestamp=timestamp)
    assert reply_bodies.decode_data_version(bodies.encode_data_version(version)) == version


@pytest.mark.parametrize("decode", DECODERS)
@given(st.binary(max_size=60) | st.text('{}[]:,"\\ 0-1aé', max_size=40).map(str.encode))
def test_junk_is_decoded_or_rejected(decode: Callable[[bytes], object], junk: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        decode(junk)

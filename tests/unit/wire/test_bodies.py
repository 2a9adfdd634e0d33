"""Bodies in both profiles, against text captured from Java."""

import msgspec
import pytest

from routebook.model import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    QueueData,
    TopicList,
    TopicQueueMappingInfo,
    TopicRoute,
)
from routebook.wire.bodies import (
    encode_cluster_info,
    encode_data_version,
    encode_kv_table,
    encode_member_group,
    encode_route,
    encode_topic_list,
)
from routebook.wire.reply_bodies import decode_route

BROKER = BrokerData(
    broker_addrs={2: "10.0.0.2:1", 10: "10.0.0.10:1", 0: "10.0.0.0:1"},
    broker_name="bröker/a",
    cluster="集群/c",
    enable_acting_master=True,
    zone_name="Z/é",
)
QUEUE = QueueData(broker_name="bröker/a", perm=6, read_queue_nums=8, topic_sys_flag=0, write_queue_nums=4)
MAPPING = TopicQueueMappingInfo(
    bname="b", curr_id_map={3: 1, 0: 0}, dirty=False, epoch=5, scope="__global__", topic="t", total_queues=8
)


def route(**fields: object) -> TopicRoute:
    return TopicRoute(**{"broker_datas": [BROKER], "filter_server_table": {}, "queue_datas": [QUEUE], **fields})  # type: ignore[arg-type]


STANDARD = (
    '{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.0:1","2":"10.0.0.2:1","10":"10.0.0.10:1"},"brokerName":"bröker/a",'
    '"cluster":"集群/c","enableActingMaster":true,"zoneName":"Z/é"}],"filterServerTable":{},'
    '"queueDatas":[{"brokerName":"bröker/a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":4}]}'
)


def test_standard_quotes_and_sorts_numeric_keys() -> None:
    assert encode_route(route(), standard=True).decode() == STANDARD


def test_plain_does_not_quote_numeric_keys() -> None:
    plain = STANDARD.replace('"0":', "0:").replace('"2":', "2:").replace('"10":', "10:")
    assert encode_route(route(), standard=False).decode() == plain


@pytest.mark.parametrize(("standard", "ids"), [(True, '{"0":0,"3":1}'), (False, "{0:0,3:1}")])
def test_mappings_follow_the_profile(standard: bool, ids: str) -> None:
    body = encode_route(route(topic_queue_mapping_by_broker={"b": MAPPING}), standard=standard).decode()
    assert body.endswith(
        ',"topicQueueMappingByBroker":{"b":{"bname":"b","currIdMap":'
        + ids
        + ',"dirty":false,"epoch":5,"scope":"__global__","topic":"t","totalQueues":8}}}'
    )


@pytest.mark.parametrize("epoch", [2**53 - 1, 2**53, 2**63 - 1, -(2**53 - 1), -(2**53), -(2**63)])
def test_integers_beyond_doubles_are_text_in_the_standard_profile(epoch: int) -> None:
    sent = route(topic_queue_mapping_by_broker={"b": msgspec.structs.replace(MAPPING, epoch=epoch)})
    standard, plain = encode_route(sent, standard=True), encode_route(sent, standard=False)
    assert f'"epoch":{epoch},'.encode() in plain
    assert (f'"epoch":"{epoch}",'.encode() in standard) == (abs(epoch) >= 2**53)
    for body in (standard, plain):
        mappings = decode_route(body).topic_queue_mapping_by_broker
        assert mappings is not None
        assert mappings["b"].epoch == epoch


def test_order_conf_is_between_filters_and_queues() -> None:
    body = encode_route(route(order_topic_conf="a:4"), standard=True).decode()
    assert '"filterServerTable":{},"orderTopicConf":"a:4","queueDatas":' in body


def test_standard_sorts_text_keys_by_utf16_unit() -> None:
    table = {"\uffff": ["1"], "😀": ["2"], "a": []}
    body = encode_route(route(filter_server_table=table), standard=True).decode()
    assert '"filterServerTable":{"a":[],"😀":["2"],"\uffff":["1"]}' in body


def test_plain_keeps_table_order_of_text_keys() -> None:
    body = encode_route(route(filter_server_table={"b": [], "a": ["f"]}), standard=False).decode()
    assert '"filterServerTable":{"b":[],"a":["f"]}' in body


def test_cluster_info() -> None:
    broker = BrokerData(
        broker_addrs={0: "127.0.0.1:10911", 1: "127.0.0.1:10921"},
        broker_name="broker-a",
        cluster="DefaultCluster",
        enable_acting_master=True,
    )
    info = ClusterInfo(broker_addr_table={"broker-a": broker}, cluster_addr_table={"DefaultCluster": ["broker-a"]})
    assert encode_cluster_info(info).decode() == (
        '{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"127.0.0.1:10911",1:"127.0.0.1:10921"},'
        '"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":true}},'
        '"clusterAddrTable":{"DefaultCluster":["broker-a"]}}'
    )
    assert encode_cluster_info(ClusterInfo(broker_addr_table={}, cluster_addr_table={})) == (
        b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
    )


def test_member_group() -> None:
    assert encode_member_group(cluster="c", broker="b", addrs={1: "a:1"}) == (
        b'{"brokerMemberGroup":{"brokerAddrs":{1:"a:1"},"brokerName":"b","cluster":"c"}}'
    )
    assert encode_member_group(cluster=None, broker=None, addrs={}) == b'{"brokerMemberGroup":{"brokerAddrs":{}}}'


def test_small_bodies() -> None:
    assert encode_topic_list(TopicList(topic_list=[])) == b'{"topicList":[]}'
    assert (
        encode_topic_list(TopicList(broker_addr="a:1", topic_list=["t"])) == b'{"brokerAddr":"a:1","topicList":["t"]}'
    )
    assert encode_kv_table({"a": "1", "b": None}) == b'{"table":{"a":"1"}}'
    version = DataVersion(counter=1, state_version=0, timestamp=1000)
    assert encode_data_version(version) == b'{"counter":1,"stateVersion":0,"timestamp":1000}'
    without = DataVersion(counter=None, state_version=2, timestamp=3)
    assert encode_data_version(without) == b'{"stateVersion":2,"timestamp":3}'

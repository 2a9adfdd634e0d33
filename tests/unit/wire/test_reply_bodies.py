"""Response bodies of Java servers of several versions, and invalid ones."""

import pytest

from routebook.errors import ProtocolError
from routebook.model import BrokerData, ClusterInfo, DataVersion, MemberGroup, QueueData, TopicRoute
from routebook.wire.reply_bodies import (
    decode_cluster_info,
    decode_data_version,
    decode_kv_table,
    decode_member_group,
    decode_route,
    decode_topic_list,
)


def test_a_route_of_5_5_0_in_both_profiles() -> None:
    text = (
        '{"brokerDatas":[{"brokerAddrs":{%s0%s:"10.0.0.0:1",%s10%s:"10.0.0.1:1"},"brokerName":"bröker/a","cluster":"集群",'
        '"enableActingMaster":true,"zoneName":"Z"}],"filterServerTable":{"a:1":["f:1"]},"orderTopicConf":"b:4",'
        '"queueDatas":[{"brokerName":"bröker/a","perm":6,"readQueueNums":8,"topicSysFlag":1,"writeQueueNums":4}],'
        '"topicQueueMappingByBroker":{"b":{"bname":"b","currIdMap":{%s0%s:0,%s3%s:1},"dirty":false,"epoch":5,'
        '"scope":"__global__","topic":"{0:t,1:u","totalQueues":8}}}'
    )
    plain = decode_route((text % (("",) * 8)).encode())
    standard = decode_route((text % (('"',) * 8)).encode())

    assert plain == standard
    assert plain.broker_datas[0].broker_addrs == {0: "10.0.0.0:1", 10: "10.0.0.1:1"}
    mappings = plain.topic_queue_mapping_by_broker
    assert mappings is not None
    assert mappings["b"].curr_id_map == {0: 0, 3: 1}
    assert mappings["b"].topic == "{0:t,1:u"


def test_a_route_of_4_5() -> None:
    """No acting master, no zone, no mapping, and the flag under its old name."""
    body = (
        b'{"brokerDatas":[{"brokerAddrs":{0:"h:1"},"brokerName":"a","cluster":"c"}],"filterServerTable":{},'
        b'"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":8,"topicSynFlag":3,"writeQueueNums":8}]}'
    )
    data = BrokerData(broker_addrs={0: "h:1"}, broker_name="a", cluster="c", enable_acting_master=False)
    queue = QueueData(broker_name="a", perm=6, read_queue_nums=8, topic_sys_flag=3, write_queue_nums=8)
    assert decode_route(body) == TopicRoute(broker_datas=[data], filter_server_table={}, queue_datas=[queue])


def test_a_damaged_table_of_a_java_server_can_be_decoded() -> None:
    """What missing header fields leave behind: a null broker name in a cluster, a broker without addresses."""
    body = (
        b'{"brokerAddrTable":{"a":{"brokerAddrs":{},"cluster":"c","enableActingMaster":false}},'
        b'"clusterAddrTable":{"c":[null,"a"]}}'
    )
    data = BrokerData(broker_addrs={}, broker_name="", cluster="c", enable_acting_master=False)
    assert decode_cluster_info(body) == ClusterInfo(broker_addr_table={"a": data}, cluster_addr_table={"c": ["a"]})


def test_an_empty_object_has_defaults() -> None:
    assert decode_route(b"{}") == TopicRoute(broker_datas=[], filter_server_table={}, queue_datas=[])
    assert decode_cluster_info(b"{}") == ClusterInfo(broker_addr_table={}, cluster_addr_table={})
    assert decode_topic_list(b'{"topicList":["a",null]}').topic_list == ["a"]
    assert decode_kv_table(b'{"table":{"k":"v","gone":null}}') == {"k": "v"}
    assert decode_data_version(b'{"timestamp":7}') == DataVersion(counter=None, state_version=0, timestamp=7)


def test_a_member_group() -> None:
    body = b'{"brokerMemberGroup":{"brokerAddrs":{0:"h:1",1:"h:2"},"brokerName":"a","cluster":"c"}}'
    assert decode_member_group(body) == MemberGroup(broker_addrs={0: "h:1", 1: "h:2"}, broker_name="a", cluster="c")


def test_bare_keys_are_quoted_only_outside_of_text() -> None:
    body = b'{"table":{"a":"{1:2,3:4","b\\"{5:6":"\\\\", "c" : ",7:8"}, "x":{ -1 : {2:3} ,4:5}}'
    assert decode_kv_table(body) == {"a": "{1:2,3:4", 'b"{5:6': "\\", "c": ",7:8"}


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"null",
        b"[]",
        b"5",
        b"<html>",
        b'{"topicList":',
        b'{"topicList":5}',
        b'{"topicList":["\xff"]}',
        b"{1:2",
    ],
)
def test_an_invalid_body_is_a_protocol_error(body: bytes | None) -> None:
    with pytest.raises(ProtocolError, match="the topic list"):
        decode_topic_list(body)


def test_a_body_of_quotes_and_backslashes_is_rejected_quickly() -> None:
    with pytest.raises(ProtocolError):
        decode_topic_list(b'{"topicList":["' + b'\\"{1:' * 200_000)

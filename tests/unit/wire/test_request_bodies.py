"""The bodies of 322 and 217 and the KV file. The tables were put to the 5.5.0 classes with fastjson2 2.0.59.

Different on purpose: queues without a broker's name, and a KV file that is not UTF-8.
"""

import pytest

from routebook.errors import BadRequest
from routebook.model import DataVersion, QueueData
from routebook.wire.request_bodies import decode_data_version, decode_kv_table, decode_topic_route

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"counter":1,"stateVersion":2,"timestamp":3}', (1, 2, 3)),
        (b"{}", (0, 0, NOW)),
        (b'{"counter":null,"timestamp":3}', (None, 0, 3)),
        (b'{"timestamp":null}', (0, 0, 0)),
        (b"{'counter':'5','timestamp':1.9,}", (5, 0, 1)),
        (b'{"counter":1,"unknown":[{}],"timestamp":9223372036854775807}', (1, 0, 9223372036854775807)),
    ],
)
def test_data_version(body: bytes, expected: tuple[int | None, int, int]) -> None:
    counter, state_version, timestamp = expected
    assert decode_data_version(body, now_ms=NOW) == DataVersion(
        counter=counter, state_version=state_version, timestamp=timestamp
    )


@pytest.mark.parametrize("body", [None, b"", b"null", b'""'])
def test_no_data_version(body: bytes | None) -> None:
    assert decode_data_version(body, now_ms=NOW) is None


@pytest.mark.parametrize("body", [b"[]", b"x", b"{counter:1}", b'{"counter":{}}', b'{"timestamp":9223372036854775808}'])
def test_bad_data_version(body: bytes) -> None:
    with pytest.raises(BadRequest, match="not a DataVersion: "):
        decode_data_version(body, now_ms=NOW)


def queue(name: str, *, perm: int = 0, queues: int = 0) -> QueueData:
    return QueueData(broker_name=name, perm=perm, read_queue_nums=queues, topic_sys_flag=0, write_queue_nums=queues)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b'{"brokerDatas":[],"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":8,"writeQueueNums":8}]}',
            [queue("a", perm=6, queues=8)],
        ),
        (b'{"queueDatas":[{"brokerName":"a"},{"brokerName":"b","perm":"4"}]}', [queue("a"), queue("b", perm=4)]),
        (b'{"queueDatas":{"brokerName":"a"}}', [queue("a")]),
        (b'{"queueDatas":[{"brokerName":"a"}],"brokerDatas":[{"brokerAddrs":{0:"a:1"}}]}', [queue("a")]),
        (b'{"queueDatas":[{"brokerName":"a"}],"topicQueueMappingByBroker":{"a":{"currIdMap":{0:1}}}}', [queue("a")]),
        (b'{"queueDatas":[]}', []),
        (b"{}", []),
        (b'{"queueDatas":null}', None),
        (b"null", None),
        (b"", None),
        (None, None),
    ],
)
def test_topic_route(body: bytes | None, expected: list[QueueData] | None) -> None:
    assert decode_topic_route(body) == expected


@pytest.mark.parametrize(
    "body",
    [b"x", b"[]", b'{"queueDatas":5}', b'{"queueDatas":[],"brokerDatas":5}', b'{"queueDatas":[{"perm":"x"}]}'],
)
def test_bad_topic_route(body: bytes) -> None:
    with pytest.raises(BadRequest, match="not a TopicRouteData"):
        decode_topic_route(body)


@pytest.mark.parametrize(
    "body", [b'{"queueDatas":[{}]}', b'{"queueDatas":[null]}', b'{"queueDatas":[{"brokerName":null}]}']
)
def test_queues_need_a_broker(body: bytes) -> None:
    with pytest.raises(BadRequest, match="without brokerName"):
        decode_topic_route(body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"configTable":{"ns":{"k":"v"}}}', {"ns": {"k": "v"}}),
        (b'\n{ "configTable" : {\n"ns":{"k":"v","n":5,"z":null} } }\n', {"ns": {"k": "v", "n": "5", "z": None}}),
        (b"{'configTable':{'ns':{'k':'v'},'gone':null}}", {"ns": {"k": "v"}}),
        (b'{"configTable":{5:{}}}', {"5": {}}),
        (b'{"configTable":{}}', {}),
        ('\ufeff{"configTable":{"é":{"中":"😀"}}}'.encode(), {"é": {"中": "😀"}}),
        (b"", {}),
    ],
)
def test_kv_table(text: bytes, expected: dict[str, dict[str, str | None]]) -> None:
    assert decode_kv_table(text) == expected


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b'{"configTable":{\n "ns":{k:"v"}}}', "line 2, column 8"),
        (b'{"configTable":{"ns":{5:"v"}}}', "line 1, column 24"),
        (b'{"configTable":{"ns":{"k":"v"}}', "line 1, column 32"),
        (b'{"configTable":{"ns":{"k":"v"}}}\n}', "line 2, column 1"),
        (b'{"configTable":{"ns":{\n"k":"\xff"}}}', "not UTF-8 at line 2, column 6"),
        (b"\n", "line 2, column 1"),
        (b"{}", 'no "configTable" at line 1, column 1'),
        (b'{"configTable":null}', 'no "configTable" at line 1, column 1'),
        (b"[]", "line 1, column 1"),
        (b"null", 'no "configTable" at line 1, column 1'),
    ],
)
def test_an_invalid_kv_file_is_reported_with_its_position(text: bytes, where: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode_kv_table(text)
    assert where in str(caught.value.remark)

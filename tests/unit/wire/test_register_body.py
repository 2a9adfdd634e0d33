"""Registration bodies of all ages. The tables were put to RegisterBrokerBody.decode with fastjson2 2.0.59.

Different on purpose: limits, a stream cut short, topics and mappings without name, deflated without saying so.
"""

import struct
import zlib

import pytest

from routebook.errors import BadRequest
from routebook.model import DataVersion, RegisterBody, TopicConfig, TopicQueueMappingInfo
from routebook.wire.register_body import decode_register_body

NOW = 1_800_000_000_000
V_5_5_0 = 513

PLAIN = (
    b'{"filterServerList":["f:1"],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,"stateVersion":0,'
    b'"timestamp":1700000000000},"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":1700000000001},'
    b'"topicConfigTable":{"TopicTest":{"attributes":{"+message.type":"NORMAL"},"order":false,"perm":6,'
    b'"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"TopicTest","topicSysFlag":0,"writeQueueNums":4}},'
    b'"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{"st":{"bname":"broker-a","currIdMap":{0:0,10:3},'
    b'"dirty":false,"epoch":5,"scope":"__global__","topic":"st","totalQueues":8}}}}'
)
# Written by Java's RegisterBrokerBody.encode(true) for the same content, without the filter server.
DEFLATED = bytes.fromhex(
    "78da454e4b6bc240105efb4bc277edb644acadeccd8388e003dbd04b29cb669d6a30c9867d1c24e4bf772285ce3087f966be871062d1c3"
    "bad446f2503389104da44ff2a1722d542e11ab86186c3aa8e95bfe5f831062c2332f5c57d9827fb217eed7ec63b35f6f57ba58aeb31e8f"
    "4c0ee64ccff1d61114f687f7dd728b91fcf0f5fd27917a94ad69c67be9dd95fc9381844dde6f4e3bc3c67dce49a6b99a0d12a7cac71bd4"
    "8fa9034950e7ec056acec1adbb3b687dae5d696aad59238ed9180cf1be44531f13250a508be117e5c0493f"
)
MAPPING = TopicQueueMappingInfo(
    bname="broker-a",
    curr_id_map={0: 0, 10: 3},
    dirty=False,
    epoch=5,
    scope="__global__",
    topic="st",
    total_queues=8,
)
TOPIC = TopicConfig(topic_name="TopicTest", perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=4)
EXPECTED = RegisterBody(
    topics=(TOPIC,),
    data_version=DataVersion(counter=3, state_version=0, timestamp=1700000000000),
    mappings={"st": MAPPING},
    filter_servers=("f:1",),
)
UNSTAMPED = DataVersion(counter=0, state_version=0, timestamp=NOW)


def decode(body: bytes | None, *, version: int = V_5_5_0, compressed: bool = False) -> RegisterBody:
    return decode_register_body(body, version=version, compressed=compressed, now_ms=NOW)


def one_topic(config: bytes) -> TopicConfig:
    body = decode(b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"key":' + config + b"}}}")
    assert body.topics is not None
    (topic,) = body.topics
    return topic


def part(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text


def deflated(
    *topics: bytes, data_version: bytes = b"{}", filters: bytes = b"[]", mappings: tuple[bytes, ...] | None = ()
) -> bytes:
    content = part(data_version) + struct.pack(">i", len(topics)) + b"".join(map(part, topics)) + part(filters)
    if mappings is not None:
        content += struct.pack(">i", len(mappings)) + b"".join(map(part, mappings))
    return zlib.compress(content)


def test_plain_with_bare_keys() -> None:
    assert decode(PLAIN) == EXPECTED


def test_plain_with_quoted_keys() -> None:
    assert decode(PLAIN.replace(b"{0:0,10:3}", b'{"0":0,"10":3}')) == EXPECTED


def test_keys_within_text_are_not_quoted() -> None:
    odd = rb"x\"currIdMap\":{1:2}"
    assert decode(PLAIN.replace(b"f:1", odd)).filter_servers == ('x"currIdMap":{1:2}',)


def test_an_unknown_field_is_skipped() -> None:
    assert decode(PLAIN.replace(b'"order":false', b'"since":{"6.0":[1,{}]},"order":false')) == EXPECTED


def test_lenient_json_is_decoded() -> None:
    odd = PLAIN.replace(b'"', b"'").replace(b"8}", b"8,}").replace(b",10:3", b", 10 : '3'")
    assert decode(odd.replace(b"'SINGLE_TAG'", b"0")) == EXPECTED
    with pytest.raises(BadRequest, match="needs double quotes"):
        decode(odd)


def test_deflated_by_java() -> None:
    body = decode(DEFLATED, compressed=True)
    assert body == RegisterBody(
        topics=EXPECTED.topics, data_version=EXPECTED.data_version, mappings=EXPECTED.mappings, filter_servers=()
    )


def test_a_deflated_body_is_detected_despite_the_header() -> None:
    assert decode(DEFLATED, compressed=False) == decode(DEFLATED, compressed=True)


def test_json_with_a_header_that_claims_compression_is_rejected() -> None:
    with pytest.raises(BadRequest, match="not a zlib stream"):
        decode(PLAIN, compressed=True)


@pytest.mark.parametrize("body", [None, b""])
def test_no_body(body: bytes | None) -> None:
    nothing = DataVersion(counter=0, state_version=0, timestamp=0)
    assert decode(body) == RegisterBody(topics=(), data_version=nothing, mappings={}, filter_servers=())
    assert decode(body, version=36).filter_servers is None


def test_before_3_0_11_the_body_is_the_wrapper() -> None:
    body = b'{"dataVersion":{"counter":1,"timestamp":2},"topicConfigTable":{"a":{"topicName":"a"}}}'
    assert decode(body, version=36) == RegisterBody(
        topics=(TopicConfig(topic_name="a"),),
        data_version=DataVersion(counter=1, state_version=0, timestamp=2),
        mappings={},
        filter_servers=None,
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{}", RegisterBody(topics=(), data_version=UNSTAMPED, mappings={}, filter_servers=())),
        (
            b'{"topicConfigSerializeWrapper":null}',
            RegisterBody(topics=None, data_version=None, mappings={}, filter_servers=()),
        ),
        (
            b'{"topicConfigSerializeWrapper":{"topicConfigTable":null}}',
            RegisterBody(topics=None, data_version=UNSTAMPED, mappings={}, filter_servers=()),
        ),
        (
            b'{"topicConfigSerializeWrapper":{"dataVersion":null},"filterServerList":null}',
            RegisterBody(topics=(), data_version=None, mappings={}, filter_servers=None),
        ),
        (
            b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":null,"timestamp":7}}}',
            RegisterBody(
                topics=(),
                data_version=DataVersion(counter=None, state_version=0, timestamp=7),
                mappings={},
                filter_servers=(),
            ),
        ),
        (
            b'{"filterServerList":5}',
            RegisterBody(topics=(), data_version=UNSTAMPED, mappings={}, filter_servers=None),
        ),
        (
            b'{"filterServerList":"f:1"}',
            RegisterBody(topics=(), data_version=UNSTAMPED, mappings={}, filter_servers=("f:1",)),
        ),
        (
            b'{"filterServerList":["f:1",2,true,null]}',
            RegisterBody(topics=(), data_version=UNSTAMPED, mappings={}, filter_servers=("f:1", "2", "true")),
        ),
    ],
)
def test_missing_and_null_members(body: bytes, expected: RegisterBody) -> None:
    assert decode(body) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (b'{"topicName":"a"}', TopicConfig(topic_name="a")),
        (
            b'{"topicName":"a","perm":null,"readQueueNums":null,"topicSysFlag":null,"writeQueueNums":null}',
            TopicConfig(topic_name="a", perm=0, read_queue_nums=0, topic_sys_flag=0, write_queue_nums=0),
        ),
        (b'{"topicName":"a","perm":"4","readQueueNums":8.9}', TopicConfig(topic_name="a", perm=4, read_queue_nums=8)),
        (b'{"topicName":5}', TopicConfig(topic_name="5")),
        (b'{"topicName":"a","topicFilterType":"OTHER","order":"true"}', TopicConfig(topic_name="a")),
        (b'{"topicName":"a","attributes":null,"perm":2}', TopicConfig(topic_name="a", perm=2)),
        (b'{"topicName":"a","attributes":{"x":1}}', TopicConfig(topic_name="a")),
    ],
)
def test_topics(config: bytes, expected: TopicConfig) -> None:
    assert one_topic(config) == expected


@pytest.mark.parametrize(
    "config",
    [
        b"null",
        b"5",
        b"[]",
        b'{"topicName":"a","attributes":5}',
        b'{"topicName":"a","perm":"x"}',
        b'{"topicName":"a","perm":2147483648}',
        b'{"topicName":"a","topicFilterType":2}',
        b"{topicName:'a'}",
    ],
)
def test_topics_that_java_rejects(config: bytes) -> None:
    with pytest.raises(BadRequest):
        one_topic(config)


def test_a_topic_without_a_name_is_reported_with_its_key() -> None:
    with pytest.raises(BadRequest, match="topic 'key' has no topicName"):
        one_topic(b"{}")


def test_a_null_mapping_is_reported_with_its_topic() -> None:
    with pytest.raises(BadRequest, match="mapping of topic 'st' is null"):
        decode(b'{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{"st":null}}}')


@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"[]",
        b"null",
        b"{}x",
        b'\xef\xbb\xbf{"filterServerList":[]}',
        b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":{}}}}',
        b'{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{"st":{"currIdMap":{"x":1}}}}}',
        b'{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{"st":{"currIdMap":{0:null}}}}}',
    ],
)
def test_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        decode(body)


def test_a_negative_version_is_refused() -> None:
    with pytest.raises(BadRequest, match="version -1"):
        decode(PLAIN, version=-1)


def test_too_many_topics() -> None:
    table = b",".join(b'"%d":{"topicName":"t%d"}' % (n, n) for n in range(4))
    plain = b'{"topicConfigSerializeWrapper":{"topicConfigTable":{' + table + b"}}}"
    packed = deflated(*(b"t%d 1 1 6 SINGLE_TAG" % n for n in range(4)))
    for body in (plain, packed):
        with pytest.raises(BadRequest, match="4 topics in one registration; the limit is 3"):
            decode_register_body(body, version=V_5_5_0, compressed=False, max_topics=3, now_ms=NOW)


@pytest.mark.parametrize(
    ("body", "version", "topics"),
    [
        (deflated(b"a 1 2 3 SINGLE_TAG {}"), 513, [("a", 1, 2, 3)]),
        (deflated(b"a 1 2 3 MULTI_TAG"), 513, [("a", 1, 2, 3)]),
        (deflated(b"a +1 -2 3 SINGLE_TAG not json"), 513, [("a", 1, -2, 3)]),
        (deflated(b" 1 2 3 SINGLE_TAG"), 513, [("", 1, 2, 3)]),
        (deflated(b"a 1 2 3 SINGLE_TAG", b"a 4 5 6 SINGLE_TAG"), 513, [("a", 4, 5, 6)]),
        (deflated(b"a 1 2 3 SINGLE_TAG", mappings=None), 412, [("a", 1, 2, 3)]),
        (deflated(b"a 1 2 3 SINGLE_TAG") + b"junk", 513, [("a", 1, 2, 3)]),
    ],
)
def test_deflated_topics(body: bytes, version: int, topics: list[tuple[str, int, int, int]]) -> None:
    found = decode(body, version=version, compressed=True).topics
    assert found is not None
    assert [(t.topic_name, t.read_queue_nums, t.write_queue_nums, t.perm) for t in found] == topics


@pytest.mark.parametrize(
    ("filters", "expected"),
    [(b'["f:1"]', ("f:1",)), (b"null", None), (b"", None), (b"nonsense", ()), (b"[1]", ("1",))],
)
def test_deflated_filter_servers(filters: bytes, expected: tuple[str, ...] | None) -> None:
    assert decode(deflated(filters=filters), compressed=True).filter_servers == expected


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (deflated(b"a 1 2 3"), "not a topic"),
        (deflated(b"a 1 2 x SINGLE_TAG"), "'x' is not a number"),
        (deflated(b"a 1 2 2147483648 SINGLE_TAG"), "is not a number"),
        (deflated(b"a 1 2 3 single_tag"), "not a topic"),
        (deflated(data_version=b"x"), "not a DataVersion"),
        (deflated(mappings=None), "ends before mappings"),
        (deflated(mappings=(b"{}",)), "has no topic"),
        (deflated(mappings=(b"null",)), "has no topic"),
        (zlib.compress(struct.pack(">i", 2**31 - 1)), "2147483647 bytes for the DataVersion"),
        (zlib.compress(struct.pack(">i", -1)), "-1 bytes for the DataVersion"),
        (zlib.compress(part(b"{}") + struct.pack(">i", 99_999)), "99999 topics, more than it contains"),
        (deflated()[:-1], "truncated"),
        (b"\x78\xda" + b"\xff" * 20, "not a zlib stream"),
    ],
)
def test_invalid_deflated_bodies_are_rejected(body: bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        decode(body, compressed=True)


def test_a_zip_bomb_is_not_inflated() -> None:
    with pytest.raises(BadRequest, match="inflates to more than 1048576 bytes"):
        decode_register_body(
            zlib.compress(bytes(64 << 20)), version=V_5_5_0, compressed=True, max_inflated=1 << 20, now_ms=NOW
        )


def test_brokers_share_the_names_of_topics() -> None:
    first, second = decode(PLAIN).topics, decode(DEFLATED).topics
    assert first is not None
    assert second is not None
    assert first[0].topic_name is second[0].topic_name

"""Broker requests, decoded with the NameServer's own readers."""

import zlib

import msgspec
import pytest

from routebook.codes import FLAG_ONEWAY, VERSION_5_5_0
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.population import Member
from routebook.fleet.scenario import BrokerTerms
from routebook.fleet.system_topics import system_topics
from routebook.model import DataVersion, RegisterBody, TopicConfig
from routebook.wire.command import Command
from routebook.wire.register_body import decode_register_body
from routebook.wire.request_bodies import decode_data_version, decode_topic_route

MEMBER = Member(number=0, cluster="c1", broker="b1", broker_id=0, host="127.16.0.1", zone=None)
ORDERS = TopicConfig(topic_name="orders", read_queue_nums=8, write_queue_nums=8)
NAMES = {"brokerAddr": "127.16.0.1:10911", "brokerId": "0", "brokerName": "b1", "clusterName": "c1"}


def requests(**terms: object) -> BrokerRequests:
    return BrokerRequests(MEMBER, msgspec.structs.replace(BrokerTerms(), **terms), [ORDERS], now_ms=1000)


def read(command: Command) -> RegisterBody:
    assert command.ext is not None
    assert command.ext["bodyCrc32"] == str(zlib.crc32(command.body or b"") & 0x7FFFFFFF)
    compressed = command.ext["compressed"] == "true"
    return decode_register_body(command.body, version=command.version, compressed=compressed, now_ms=0)


def names(body: RegisterBody) -> set[str]:
    return {topic.topic_name for topic in body.topics or ()}


def test_a_registration_holds_all_topics() -> None:
    (command,) = requests().registration(5000)
    assert (command.code, command.flag, command.version, command.language) == (103, 0, VERSION_5_5_0, "JAVA")
    assert command.ext is not None
    assert {key: value for key, value in command.ext.items() if key != "bodyCrc32"} == {
        **NAMES,
        "compressed": "false",
        "enableActingMaster": "false",
        "haServerAddr": "127.16.0.1:10912",
    }
    body = read(command)
    assert names(body) == {"orders", *(topic.topic_name for topic in system_topics("c1", "b1"))}
    assert body.data_version == DataVersion(counter=0, state_version=0, timestamp=1000)


def test_registrations_differ_in_their_timestamp_as_in_a_real_broker() -> None:
    broker = requests()
    (first,), (second,) = broker.registration(5000), broker.registration(35_000)
    assert first.body != second.body
    assert read(first) == read(second)
    assert broker.registration() == broker.registration()


@pytest.mark.parametrize("size", [1, 4, 5, 16, 100])
def test_a_split_registration_holds_all_topics(size: int) -> None:
    """Parts of the split size, then the rest, which may be empty."""
    whole = names(read(requests().registration()[0]))
    parts = [read(command) for command in requests(split=size).registration()]
    assert [len(names(part)) for part in parts[:-1]] == [size] * (len(whole) // size)
    assert set().union(*map(names, parts)) == whole
    assert {part.data_version for part in parts} == {DataVersion(counter=0, state_version=0, timestamp=1000)}


def test_a_compressed_body_has_a_header_that_says_uncompressed() -> None:
    (command,) = requests(compressed=True).registration(5000)
    assert command.ext is not None
    assert command.ext["compressed"] == "false"
    assert (command.body or b"")[:1] == b"\x78"
    assert read(command).topics


def test_an_incremental_registration_holds_the_new_topic_and_version() -> None:
    broker = requests()
    broker.put_topics([TopicConfig(topic_name="more")], 9000)
    (command,) = broker.incremental(["more"])
    body = read(command)
    assert names(body) == {"more"}
    assert body.data_version == DataVersion(counter=1, state_version=0, timestamp=9000)
    assert "more" in names(read(broker.registration()[0]))


def test_a_new_topic_by_single_topic_registration() -> None:
    (command,) = requests(single_topic_register=True).incremental(["orders"])
    assert (command.code, command.ext) == (217, {"topic": "orders"})
    queues = decode_topic_route(command.body)
    assert queues is not None
    assert [(q.broker_name, q.read_queue_nums, q.perm) for q in queues] == [("b1", 8, 6)]


def test_a_deleted_topic_is_missing_from_the_next_registration() -> None:
    broker = requests()
    broker.delete_topics(["orders", "unknown"], 9000)
    body = read(broker.registration()[0])
    assert "orders" not in names(body)
    assert body.data_version == DataVersion(counter=1, state_version=0, timestamp=9000)


def test_acting_master_mode_sends_the_timeout_and_one_way_heartbeats() -> None:
    compatible, new = requests(acting_master="compatible"), requests(acting_master="new")
    (command,) = compatible.registration()
    assert command.ext is not None
    assert (command.ext["enableActingMaster"], command.ext["heartbeatTimeoutMillis"]) == ("true", "10000")
    beat = compatible.heartbeat()
    assert (beat.code, beat.flag, beat.ext) == (322, FLAG_ONEWAY, NAMES)
    assert decode_data_version(beat.body, now_ms=0) == compatible.version
    assert compatible.member_query().ext == {"topic": "rmq_sys_SYNC_BROKER_MEMBER_b1"}
    beat = new.heartbeat()
    assert (beat.code, beat.flag, beat.body) == (904, FLAG_ONEWAY, None)
    assert beat.ext == {key: value for key, value in NAMES.items() if key != "brokerId"}
    assert (new.member_query().code, new.member_query().ext) == (901, {"brokerName": "b1", "clusterName": "c1"})


def test_a_faster_fleet_has_a_shorter_timeout() -> None:
    quick = BrokerRequests(MEMBER, BrokerTerms(acting_master="new"), [], now_ms=0, scale=20)
    assert (quick.registration()[0].ext or {})["heartbeatTimeoutMillis"] == "500"


def test_a_role_switch_starts_a_new_epoch() -> None:
    old, new = requests(), requests()
    new.broker_id = 1
    old.demote(new.promote(9000), new)
    assert (new.registration()[0].ext or {})["brokerId"] == "0"
    assert (old.registration()[0].ext or {})["brokerId"] == "1"
    assert read(old.registration()[0]).data_version == read(new.registration()[0]).data_version
    assert old.version.state_version == 1


def test_queries_and_unregistration() -> None:
    broker = requests()
    assert (broker.unregistration().code, broker.unregistration().ext) == (104, NAMES)
    assert (broker.cluster_query().code, broker.cluster_query().ext) == (106, None)
    asked = broker.version_query(oneway=False)
    assert (asked.code, asked.flag, asked.ext) == (322, 0, NAMES)


def test_a_registration_holds_the_zone() -> None:
    zoned = BrokerRequests(msgspec.structs.replace(MEMBER, zone="north"), BrokerTerms(), [], now_ms=0)
    assert (zoned.registration()[0].ext or {})["__ZONE_NAME"] == "north"

"""Frames that are cheap to send and expensive to process, for the tests of cost ceilings."""

import json
import struct
import zlib
from collections.abc import Iterable

from tests.support.remoting_frames import Request, frame


def loose_route(size: int) -> bytes:
    """A TopicRouteData that fastjson2 accepts, but not strict JSON: single quotes and many small queues."""
    unit = b"{'brokerName':'b','perm':'6'},"
    return b"{'queueDatas':[" + unit * (size // len(unit)) + b"]}"


def loose_data_version(size: int) -> bytes:
    """A DataVersion with single quotes and a large counter of small values."""
    return b"{'counter':" + b"[" + b"{'a':1}," * (size // 8) + b"],'stateVersion':0,'timestamp':1}"


def deflated_registration(*, broker: str, data_version: bytes, topics: Iterable[str] = ()) -> Request:
    """A compressed registration, as a broker with compressedRegister=true sends it."""
    parts = [f"{topic} 8 8 6 SINGLE_TAG {{}}".encode() for topic in topics]
    plain = _part(data_version) + struct.pack(">i", len(parts)) + b"".join(map(_part, parts)) + _part(b"[]")
    plain += struct.pack(">i", 0)
    return Request(code=103, ext=registration_fields(broker), body=zlib.compress(plain, 9))


def registration_fields(broker: str, *, addr: str = "10.9.9.9:10911", cluster: str = "hostile") -> dict[str, str]:
    return {"brokerName": broker, "brokerAddr": addr, "clusterName": cluster, "haServerAddr": addr, "brokerId": "0"}


def registration(broker: str, topics: Iterable[str], *, counter: int = 1, flag: int = 0, perm: int = 6) -> Request:
    """A registration in Java's exact spelling, which takes the fast path."""
    table = {
        topic: {
            "attributes": {},
            "perm": perm,
            "readQueueNums": 8,
            "topicFilterType": "SINGLE_TAG",
            "topicName": topic,
            "topicSysFlag": flag,
            "writeQueueNums": 8,
        }
        for topic in topics
    }
    wrapper = {
        "dataVersion": {"counter": counter, "stateVersion": 0, "timestamp": 1_700_000_000_000},
        "mappingDataVersion": {"counter": 0, "stateVersion": 0, "timestamp": 1_700_000_000_000},
        "topicConfigTable": table,
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    whole = {"filterServerList": [], "topicConfigSerializeWrapper": wrapper}
    body = json.dumps(whole, separators=(",", ":")).encode()
    return Request(code=103, ext=registration_fields(broker), body=body)


def header_with_objects(size: int) -> bytes:
    """A frame whose JSON header has objects as values in extFields, which Java converts to text."""
    unit = b'"k%06d":{"a":[1,2,{"b":3}]},'
    members = b"".join(unit % number for number in range(size // (len(unit) + 3)))
    return frame(b'{"code":105,"extFields":{' + members + b'"topic":"T"},"flag":0,"opaque":1,"version":513}')


def unfinished_proxy_header(*, announced: int, sent: int) -> bytes:
    """A PROXY v2 header that ends before the announced number of bytes."""
    return b"\r\n\r\n\x00\r\nQUIT\n\x21\x11" + announced.to_bytes(2, "big") + b"\0" * sent


def _part(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def quoted_cookie(size: int) -> bytes:
    """A quoted value of escapes, which some parsers read in quadratic time."""
    return b'a="' + b"\\" * (size - 4) + b'"'

"""Plan files for the load generator: complete frames as a 5.5.0 client or broker sends them."""

import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from routebook.access.signature import ACCESS_KEY, SIGNATURE, content_of, sign
from routebook.wire.codec import encode
from routebook.wire.command import Command, SerializeType

_OPAQUE = 100_000_000  # nine digits, overwritten by the generator
_MARK = b'"opaque":'
_BINARY_OPAQUE_AT = 13


class Credentials(NamedTuple):
    """With which requests are signed."""

    access_key: str
    secret: str


def look_ups(
    path: Path,
    topics: Sequence[str],
    *,
    serialize_type: SerializeType = SerializeType.JSON,
    credentials: Credentials | None = None,
) -> Path:
    """Write a plan that looks up each topic in turn, signed with an access key and a secret if they are given."""
    frames = []
    for topic in topics:
        ext = _signed({"topic": topic}, None, credentials)
        frames.append(encode(Command(code=105, opaque=_OPAQUE, ext=ext), serialize_type))
    _write(path, [], ((frame, -1) for frame in frames))
    return path


def registrations(
    path: Path,
    bodies: Sequence[bytes],
    brokers: Iterable[tuple[int, int]],
    *,
    credentials: Credentials | None = None,
) -> Path:
    """Write a plan of registrations; `brokers` are pairs of broker number and index in `bodies`."""
    _write(path, bodies, ((_registration_head(broker, bodies[body], credentials), body) for broker, body in brokers))
    return path


def register_body(topics: Iterable[str], *, counter: int = 1, changed: str | None = None) -> bytes:
    """Return a body as a 5.5.0 broker sends it. The queues of the topic `changed` depend on the counter."""
    table = {
        topic: {
            "attributes": {},
            "order": False,
            "perm": 6,
            "readQueueNums": 8 + counter % 64 if topic == changed else 8,
            "topicFilterType": "SINGLE_TAG",
            "topicName": topic,
            "topicSysFlag": 0,
            "writeQueueNums": 8,
        }
        for topic in topics
    }
    now = 1_700_000_000_000
    wrapper = {
        "dataVersion": {"counter": counter, "stateVersion": 0, "timestamp": now},
        "mappingDataVersion": {"counter": 0, "stateVersion": 0, "timestamp": now},
        "topicConfigTable": table,
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    return json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}, separators=(",", ":")).encode()


def topic_names(count: int, kind: str = "topic") -> list[str]:
    return [f"{kind}-{number:05d}" for number in range(count)]


def registration_fields(broker: int) -> dict[str, str | None]:
    address = f"10.{broker // 62_500}.{broker // 250 % 250}.{broker % 250}"
    return {
        "bodyCrc32": "0",
        "brokerAddr": f"{address}:10911",
        "brokerId": "0",
        "brokerName": f"broker-{broker:05d}",
        "clusterName": f"cluster-{broker % 4}",
        "compressed": "false",
        "enableActingMaster": "false",
        "haServerAddr": f"{address}:10912",
    }


def _registration_head(broker: int, body: bytes, credentials: Credentials | None) -> bytes:
    ext = _signed(registration_fields(broker), body, credentials)
    head = encode(Command(code=103, opaque=_OPAQUE, ext=ext))
    return struct.pack(">i", len(head) - 4 + len(body)) + head[4:]


def _signed(ext: dict[str, str | None], body: bytes | None, credentials: Credentials | None) -> dict[str, str | None]:
    if credentials is not None:
        ext[ACCESS_KEY] = credentials.access_key
        ext[SIGNATURE] = sign(content_of(ext, body), credentials.secret)
    return ext


def _write(path: Path, bodies: Sequence[bytes], frames: Iterable[tuple[bytes, int]]) -> None:
    heads = list(frames)
    with path.open("wb") as file:
        file.write(struct.pack("<I", len(bodies)))
        for body in bodies:
            file.write(struct.pack("<I", len(body)))
            file.write(body)
        file.write(struct.pack("<I", len(heads)))
        for head, body_number in heads:
            opaque_at = _BINARY_OPAQUE_AT if head[4] else head.index(_MARK) + len(_MARK)
            file.write(struct.pack("<IIi", len(head), opaque_at, body_number))
            file.write(head)

"""The steps of a run. Steps are values: a run can be repeated with fewer of them.

Names hold the placeholder `@@`, which each run fills with two letters of its own, so that what an earlier run left
behind (Java forgets neither KV namespaces nor static mappings) does not matter. Lengths inside bodies stay right.
"""

import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from tests.support.remoting_frames import Request

PLACEHOLDER: Final = "@@"

Expectation: TypeAlias = Literal["answer", "nothing", "anything"]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request over the named connection (`new`: over a new one)."""

    conn: str
    code: int
    ext: Mapping[str, str] | None = None
    body: bytes = b""
    opaque: int = 1
    flag: int = 0
    version: int = 513
    binary: bool = False

    @property
    def expect(self) -> Expectation:
        return "nothing" if self.flag & 3 else "answer"

    def data(self, tag: str) -> bytes:
        ext = None if self.ext is None else {key: value.replace(PLACEHOLDER, tag) for key, value in self.ext.items()}
        body = self.body.replace(PLACEHOLDER.encode(), tag.encode())
        return Request(
            code=self.code,
            ext=ext,
            body=body,
            opaque=self.opaque,
            flag=self.flag,
            version=self.version,
            binary=self.binary,
        ).encode()

    def __str__(self) -> str:
        kind = ("binary " if self.binary else "") + {0: "", 1: "as answer ", 2: "one-way ", 3: "one-way answer "}[
            self.flag
        ]
        body = f" body {self.body!r}" if self.body else ""
        return f"[{self.conn}] {kind}{self.code} v{self.version} opaque {self.opaque} {_text(self.ext)}{body}"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic in a registration."""

    name: str
    perm: int = 6
    read: int = 4
    write: int = 4
    sys_flag: int = 0

    def config(self) -> dict[str, Any]:
        return {
            "attributes": {},
            "order": False,
            "perm": self.perm,
            "readQueueNums": self.read,
            "topicFilterType": "SINGLE_TAG",
            "topicName": self.name,
            "topicSysFlag": self.sys_flag,
            "writeQueueNums": self.write,
        }


@dataclass(frozen=True, kw_only=True)
class Register:
    """A registration that the harness understands (invalid ones are `OddRegister`)."""

    conn: str
    cluster: str
    broker: str
    addr: str
    broker_id: int
    topics: tuple[Topic, ...] | None
    counter: int = 1
    state_version: int = 0
    timestamp: int = 1000
    mappings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # topic -> TopicQueueMappingInfo
    filter_servers: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)  # enableActingMaster, __ZONE_NAME, haServerAddr, …
    without: frozenset[str] = frozenset()  # header fields left out
    form: Literal["json", "deflated", "none"] = "json"
    spoil: Literal["", "crc", "cut", "junk"] = ""
    checked: bool = True  # bodyCrc32 is sent
    opaque: int = 1
    version: int = 513
    binary: bool = False
    expect: Expectation = "answer"

    code: int = 103
    flag: int = 0

    @property
    def table(self) -> tuple[Topic, ...] | None:
        """The received topics: without a body, an empty table."""
        return () if self.form == "none" else self.topics

    @property
    def epoch(self) -> int:
        """The received stateVersion."""
        return 0 if self.form == "none" else self.state_version

    @property
    def acting(self) -> bool:
        return self.extra.get("enableActingMaster", "").lower() == "true"

    @property
    def zone(self) -> str | None:
        return self.extra.get("__ZONE_NAME")

    @property
    def names_missing(self) -> frozenset[str]:
        """Missing names; an empty one in a binary header counts, since it decodes to null."""
        return self.without & {"clusterName", "brokerName", "brokerAddr"}

    def data(self, tag: str) -> bytes:
        body = self._body(tag)
        ext = {
            "clusterName": self.cluster,
            "brokerName": self.broker,
            "brokerAddr": self.addr,
            "brokerId": str(self.broker_id),
            **self.extra,
            "compressed": "true" if self.form == "deflated" else "false",
        }
        if self.checked:
            right = zlib.crc32(body) & 0x7FFFFFFF
            ext["bodyCrc32"] = str(right ^ 1 if self.spoil == "crc" else right)
        ext = {key: value.replace(PLACEHOLDER, tag) for key, value in ext.items() if key not in self.without}
        return Request(
            code=103, ext=ext, body=body, opaque=self.opaque, flag=self.flag, version=self.version, binary=self.binary
        ).encode()

    def _body(self, tag: str) -> bytes:
        if self.form == "none":
            return b""
        if self.form == "json":
            text = (self._old_json() if self.version < 37 else self._json()).replace(PLACEHOLDER, tag)
            return _spoiled(text.encode(), self.spoil)
        content = self._compact().replace(PLACEHOLDER.encode(), tag.encode())
        return _spoiled(zlib.compress(content, 9), self.spoil)

    def _data_version(self) -> dict[str, int]:
        return {"counter": self.counter, "stateVersion": self.state_version, "timestamp": self.timestamp}

    def _table(self) -> dict[str, Any] | None:
        return None if self.topics is None else {topic.name: topic.config() for topic in self.topics}

    def _old_json(self) -> str:
        return plain_json({"dataVersion": self._data_version(), "topicConfigTable": self._table()})

    def _json(self) -> str:
        wrapper = {
            "dataVersion": self._data_version(),
            "mappingDataVersion": self._data_version(),
            "topicConfigTable": self._table(),
            "topicQueueMappingDetailMap": {},
            "topicQueueMappingInfoMap": self.mappings,
        }
        return plain_json({"filterServerList": self.filter_servers, "topicConfigSerializeWrapper": wrapper})

    def _compact(self) -> bytes:
        """The content of the compressed form: a number of parts, each with a length prefix."""
        topics = self.topics or ()
        lines = [f"{topic.name} {topic.read} {topic.write} {topic.perm} SINGLE_TAG {{}}" for topic in topics]
        parts = _counted(plain_json(self._data_version())) + struct.pack(">i", len(lines))
        parts += b"".join(_counted(line) for line in lines)
        parts += _counted(plain_json(self.filter_servers))
        if self.version >= 413:
            infos = [_counted(plain_json(info)) for info in self.mappings.values()]
            parts += struct.pack(">i", len(infos)) + b"".join(infos)
        return parts

    def __str__(self) -> str:
        topics = (
            "no table" if self.topics is None else [f"{t.name} {t.read}/{t.write} perm {t.perm}" for t in self.topics]
        )
        parts = [
            f"[{self.conn}] register {self.broker}/{self.broker_id} {self.addr} in {self.cluster}",
            f"v{self.version}{' binary' if self.binary else ''} {self.form}{' ' + self.spoil if self.spoil else ''}",
            f"data version {self.counter}.{self.state_version}.{self.timestamp}",
            f"topics {topics}",
        ]
        parts += [f"mappings {dict(self.mappings)}"] if self.mappings else []
        parts += [f"filter servers {self.filter_servers}"] if self.filter_servers else []
        parts += [f"with {dict(self.extra)}"] if self.extra else []
        parts += [f"without {sorted(self.without)}"] if self.without else []
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class OddRegister:
    """A registration with an unusual or invalid body, of a broker that is unregistered after the comparison."""

    name: str  # the one name from which cluster, broker and topics are made
    body: bytes
    ext: Mapping[str, str]
    about: str
    version: int = 513
    opaque: int = 1
    binary: bool = False

    code: int = 103
    flag: int = 0
    expect: Expectation = "answer"

    @property
    def conn(self) -> str:
        return f"odd {self.name}"

    def data(self, tag: str) -> bytes:
        ask = Ask(
            conn=self.conn,
            code=103,
            ext=self.ext,
            body=self.body,
            opaque=self.opaque,
            version=self.version,
            binary=self.binary,
        )
        return ask.data(tag)

    def __str__(self) -> str:
        return f"register oddly ({self.about}) v{self.version} {_text(self.ext)} body {self.body!r}"


@dataclass(frozen=True, kw_only=True)
class Raw:
    """Bytes over a new connection: broken frames, lenient headers, other protocols."""

    content: bytes
    about: str

    conn: str = "new"
    code: int = 0
    flag: int = 0
    expect: Expectation = "anything"

    def gives_opaque(self, opaque: int) -> bool:
        """Whether these bytes contain this number; otherwise the server generated it."""
        is_json = self.content[4:5] == b"\0"
        number = rb"(?<![0-9])%d(?![0-9])" % opaque
        return not is_json or opaque in (0, 1) or re.search(number, self.content) is not None

    def data(self, tag: str) -> bytes:
        return self.content.replace(PLACEHOLDER.encode(), tag.encode())

    def __str__(self) -> str:
        return f"raw ({self.about}) {self.content!r}"


@dataclass(frozen=True, kw_only=True)
class Drop:
    """Close a connection."""

    conn: str

    def __str__(self) -> str:
        return f"[{self.conn}] close"


Step: TypeAlias = Ask | Register | OddRegister | Raw | Drop


def plain_json(value: Any) -> str:
    """JSON as fastjson writes it for a broker: compact, number keys without quotes."""
    if isinstance(value, Mapping):
        items = (
            f"{key if isinstance(key, int) else json.dumps(key)}:{plain_json(item)}" for key, item in value.items()
        )
        return "{" + ",".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(plain_json(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _counted(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def _spoiled(body: bytes, spoil: str) -> bytes:
    if spoil == "cut":
        return body[: len(body) * 2 // 3]
    if spoil == "junk":
        return body[:-3] + b"\xff\x00\xff"
    return body


def _text(ext: Mapping[str, str] | None) -> str:
    return "no fields" if ext is None else json.dumps(dict(ext), ensure_ascii=False)

"""Mutated frames of six kinds: requests that real programs send, with a few bytes or tokens changed."""

import random
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.support.differential.steps import Topic, plain_json
from tests.support.remoting_frames import Request, frame

_WORDS: Final = (
    r"null|true|false|''|{}|[]|[1]|-1|1.5|1e3|2147483648|9223372036854775808|undefined|NaN|Infinity|TRUE|/**/|/*x*/|"
    r'""|\u0000|\n|\x41|\"|\u00e9|\ud800|,,|"a":1,|0:0,|"@type":"x",|"$ref":"$",|Set[1]|new Date(5)|"counter":9,|'
    r'"zzz":{"currIdMap":{0:0}},|"zzz":[1,{"a":2}],|"timestamp":7,'
)
_TEXTS: Final = (
    *"{}[],:\"'\\/ \t\n\x00\x1a-+.0179eELSDFBntfuxN_$#@~é€\U0001d11e\ufffd\ud800\xa0\u2028\x7f",
    *_WORDS.split("|"),
    "//x\n",
    "x'41'",
)
_BYTES: Final = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9d", b"\xc0\x80", b"\xe2\x82")
ADDED: Final = (*(text.encode("utf-8", "surrogatepass") for text in _TEXTS), *_BYTES)
NUL_IN_NAME: Final = re.compile(rb"""(?:\x00|\\(?:0|u|x))[^"']{0,16}["']\s*:""")
FIXED: Final = "@@@@@@"  # replaced by the number of the frame, with its length


@dataclass(frozen=True, kw_only=True)
class Mutated:
    """One frame, and the requests that show what it did."""

    kind: str
    number: int
    data: bytes
    about: bytes  # the mutated part
    shows: tuple[Request, ...] = ()
    cluster: str = ""  # the cluster whose topics it may have announced
    undo: tuple[Request, ...] = ()
    ext: Mapping[str, str] = field(default_factory=dict)

    @property
    def closes(self) -> bool:
        """Whether it may close its connection, or get no reply."""
        return self.kind in ("header", "ext")


class Mutator:
    """Draws frames from a seed."""

    def __init__(self, seed: int | str, *, first: int = 0) -> None:
        self._random = random.Random(seed)
        self._number = first  # names contain it: Java keeps mappings of former names

    def frame(self, kind: str) -> Mutated:
        self._number += 1
        return KINDS[kind](self)

    # --- kinds --------------------------------------------------------------------------------------------------------

    def header(self) -> Mutated:
        text = self._without_nul_in_name(lambda: self.mutate(self._header_text()))
        return Mutated(kind="header", number=self._number, data=frame(text), about=text)

    def ext(self) -> Mutated:
        text = self._header_text()
        begin = text.index(b'"extFields":') + len(b'"extFields":')
        end = text.index(b"}", begin) + 1
        mutated = self._without_nul_in_name(lambda: text[:begin] + self.mutate(text[begin:end]) + text[end:])
        return Mutated(kind="ext", number=self._number, data=frame(mutated), about=mutated)

    def registration(self) -> Mutated:
        old = self._random.random() < 0.1
        return self._register("registration", self.mutate(self._fill(OLD_BODY if old else BODY)), old=old)

    def deflated(self) -> Mutated:
        content = self._deflated_content()
        if self._random.random() < 0.1:
            return self._register("deflated", self._damaged(zlib.compress(content)), about=content)
        return self._register("deflated", zlib.compress(self.mutate(content)), about=content)

    def data_version(self) -> Mutated:
        body = self.mutate(self._random.choice(VERSIONS))
        ext = {"clusterName": "mc", "brokerAddr": "mb:1", "brokerName": "mb", "brokerId": "0"}
        request = Request(code=322, ext=ext, body=body, opaque=self._number)
        return Mutated(kind="322", number=self._number, data=request.encode(), about=body)

    def topic_route(self) -> Mutated:
        topic = self._fill(b"t" + FIXED.encode()).decode()
        body = self.mutate(self._fill(ROUTE))
        request = Request(code=217, ext={"topic": topic}, body=body, opaque=self._number)
        shows = (Request(code=105, ext={"topic": topic}),)
        undo = (Request(code=216, ext={"topic": topic}),)
        return Mutated(
            kind="217",
            number=self._number,
            data=request.encode(),
            about=body,
            shows=shows,
            undo=undo,
            ext={"topic": topic},
        )

    # --- parts --------------------------------------------------------------------------------------------------------

    def _register(self, kind: str, body: bytes, *, old: bool = False, about: bytes = b"") -> Mutated:
        name = self._fill(FIXED.encode()).decode()
        broker = {"clusterName": f"c{name}", "brokerName": f"b{name}", "brokerAddr": f"a{name}:1", "brokerId": "0"}
        ext = {**broker, "compressed": "true" if kind == "deflated" else "false"}
        version = 36 if old else self._random.choice((513, 413, 412)) if kind == "deflated" else 513
        request = Request(code=103, ext=ext, body=body, opaque=self._number, version=version)
        shows = (
            Request(code=322, ext=broker),
            Request(code=224, ext={"cluster": f"c{name}"}),
            *(Request(code=105, ext={"topic": f"t{n}{name}"}) for n in range(2)),
        )
        return Mutated(
            kind=kind,
            number=self._number,
            data=request.encode(),
            about=about + b" as " + body if about else body,
            shows=shows,
            cluster=f"c{name}",
            undo=(Request(code=104, ext=broker),),
            ext=ext,
        )

    def _header_text(self) -> bytes:
        rng = self._random
        code, ext = rng.choice(
            (
                (901, {"clusterName": "mc", "brokerName": "mb"}),
                (105, {"topic": "mt", "acceptStandardJsonOnly": "true"}),
                (224, {"cluster": "mc"}),
                (101, {"namespace": "mn", "key": "mk"}),
                (219, {"namespace": "mn"}),
            )
        )
        fields = ",".join(f'"{key}":"{value}"' for key, value in ext.items())
        return (
            f'{{"code":{code},"extFields":{{{fields}}},"flag":0,"language":"JAVA","opaque":{self._number},'
            f'"serializeTypeCurrentRPC":"JSON","version":{rng.choice((513, 400))}}}'
        ).encode()

    def _deflated_content(self) -> bytes:
        name = self._fill(FIXED.encode()).decode()
        topics = (f"t0{name} 4 4 6 SINGLE_TAG {{}}", f't1{name} 8 8 6 MULTI_TAG {{"+message.type":"NORMAL"}}')
        mapping = plain_json(_MAPPING).replace(FIXED, name)
        parts = [counted(VERSIONS[0]), struct.pack(">i", 2), *(counted(topic.encode()) for topic in topics)]
        parts += [counted(b'["10.0.0.1:1"]'), struct.pack(">i", 1), counted(mapping.encode())]
        return b"".join(parts)

    def _without_nul_in_name(self, draw: Callable[[], bytes]) -> bytes:
        """Java caches names; one with a NUL may take the place of one without it for all later requests (odd-json)."""
        while NUL_IN_NAME.search(text := draw()):
            pass
        return text

    def _damaged(self, body: bytes) -> bytes:
        at = self._random.randrange(len(body))
        return body[:at] + bytes([self._random.randrange(256)]) + body[at + 1 :]

    def _fill(self, text: bytes) -> bytes:
        return text.replace(FIXED.encode(), b"%06d" % self._number)

    def mutate(self, text: bytes) -> bytes:
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3))):
            text = self._once(text)
        return text

    def _once(self, text: bytes) -> bytes:
        rng = self._random
        at = rng.randrange(len(text) + 1)
        length = rng.choice((1, 1, 1, 2, 3, 8, 20))
        part = text[at : at + length]
        added: bytes = rng.choice(ADDED)
        match rng.randrange(7):
            case 0:
                return text[:at] + added + text[at:]
            case 1:
                return text[:at] + text[at + length :]
            case 2:
                return text[:at] + added + text[at + length :]
            case 3:
                return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
            case 4:
                return text[:at] + part + text[at:]
            case 5:
                other = rng.randrange(len(text) + 1)
                return text[:other] + part + text[other:]
            case _:
                return self._token_replaced(text)

    def _token_replaced(self, text: bytes) -> bytes:
        """A value between two delimiters is replaced by another token."""
        rng = self._random
        places = [n for n, byte in enumerate(text) if byte in b":,{["]
        if not places:
            return text
        begin = rng.choice(places) + 1
        end = begin
        while end < len(text) and text[end] not in b",}]:":
            end += 1
        added: bytes = rng.choice(ADDED)
        return text[:begin] + added + text[end:]


def counted(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


VERSIONS: Final = (
    b'{"counter":1,"stateVersion":0,"timestamp":1000}',
    b'{"counter":{"value":1},"stateVersion":0,"timestamp":1000}',
    b'{"counter":1,"timestamp":1000}',
)
_VERSION: Final = {"counter": 1, "stateVersion": 0, "timestamp": 1000}
_NAMES: Final = tuple(f"t{number}{FIXED}" for number in range(2))
_MAPPING: Final = {
    "bname": f"b{FIXED}",
    "currIdMap": {0: 0, 1: 1},
    "dirty": False,
    "epoch": 5,
    "scope": "__global__",
    "topic": _NAMES[0],
    "totalQueues": 2,
}
_ITEM: Final = {
    "bname": f"b{FIXED}",
    **dict.fromkeys(("endOffset", "gen", "logicOffset", "queueId", "startOffset"), 0),
    **dict.fromkeys(("timeOfEnd", "timeOfStart"), -1),
}
_TOPICS: Final = {name: Topic(name=name).config() | {"attributes": {"+message.type": "NORMAL"}} for name in _NAMES}
_OLD: Final = {"dataVersion": _VERSION, "topicConfigTable": _TOPICS}
_WRAPPER: Final = {
    **_OLD,
    "mappingDataVersion": _VERSION,
    "topicQueueMappingDetailMap": {_NAMES[0]: {**_MAPPING, "hostedQueues": {0: [_ITEM]}}},
    "topicQueueMappingInfoMap": {_NAMES[0]: _MAPPING},
}
BODY: Final = plain_json({"filterServerList": ["10.0.0.1:1"], "topicConfigSerializeWrapper": _WRAPPER}).encode()
OLD_BODY: Final = plain_json(_OLD).encode()
ROUTE: Final = (
    b'{"brokerDatas":[{"brokerAddrs":{0:"mb:1"},"brokerName":"mb","cluster":"mc","enableActingMaster":false}],'
    b'"filterServerTable":{},"queueDatas":[{"brokerName":"mb","perm":6,"readQueueNums":4,"topicSysFlag":0,'
    b'"writeQueueNums":4}]}'
)

KINDS: Final[Mapping[str, Callable[[Mutator], Mutated]]] = {
    "header": Mutator.header,
    "ext": Mutator.ext,
    "registration": Mutator.registration,
    "322": Mutator.data_version,
    "217": Mutator.topic_route,
    "deflated": Mutator.deflated,
}

"""Unusual and invalid input: lenient JSON that fastjson2 accepts or rejects, broken frames, nearly valid bodies."""

import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final

from tests.support.differential.names import SHARED_TOPICS
from tests.support.differential.sloppy_json import SloppyJson
from tests.support.differential.steps import Ask, OddRegister, Raw
from tests.support.remoting_frames import TYPE_BINARY, Request, frame

SAFE_CODES: Final = (105, 106, 206, 219, 224, 304, 901, 9999)
CHUNKS: Final = (b"\x00", b"\xff", b"{}", b"[]", b"null", b"\x00\x00\x00\x04", b"\x16\x03\x01", b"\x7f\xff\xff\xff")


class Oddities:
    """Generates invalid input from the random source of the run."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._count = 0

    # --- headers ------------------------------------------------------------------------------------------------------

    def header(self) -> Raw:
        """A JSON header with one or two oddities; the request changes nothing."""
        rng = self._random
        fields: dict[str, Any] = {
            "code": rng.choice(SAFE_CODES),
            "extFields": {"topic": rng.choice(list(SHARED_TOPICS)), "cluster": "c0@@", "namespace": "ns0@@"},
            "flag": 0,
            "language": rng.choice(("JAVA", "GO", "CPP", "NODE_JS")),
            "opaque": rng.randrange(1 << 20),
            "serializeTypeCurrentRPC": "JSON",
            "version": rng.choice((513, 401, 400, 0)),
        }
        if rng.random() < 0.3:
            del fields[rng.choice(("extFields", "flag", "language", "serializeTypeCurrentRPC", "version"))]
        if rng.random() < 0.3:
            name = rng.choice(list(fields))
            fields[name] = rng.choice(
                (None, "", "x", 5, True, [], {}, [5], 99, 1.5, "7", {"a": {"b": 1}, "c": [1, None]})
            )
        text, what = SloppyJson(rng).write(fields)
        return Raw(content=frame(text), about=f"header {what}")

    # --- frames -------------------------------------------------------------------------------------------------------

    def frame(self) -> Raw:
        kind = self._random.choice(
            (self._spoiled_frame, self._binary_frame, self._proxy, self._foreign_protocol, self._garbage)
        )
        return kind()

    def _spoiled_frame(self) -> Raw:
        rng = self._random
        whole = bytearray(Request(code=224, opaque=5, ext={"cluster": "c0@@"}).encode())
        where = rng.randrange(8)
        whole[where] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, whole[where] ^ 1))
        return Raw(content=bytes(whole), about=f"byte {where} of a frame changed")

    def _binary_frame(self) -> Raw:
        """A binary header with a length that may be wrong."""
        rng = self._random
        key = struct.pack(">h", rng.choice((7, 7, 7, 0, -1, 8, 300))) + b"cluster"
        value = struct.pack(">i", rng.choice((4, 4, 4, 0, -1, 5, 1 << 20))) + b"c0@@"
        entries = key + value
        code = rng.choice(SAFE_CODES)
        header = struct.pack(">hbhii", code, rng.choice((0, 9, 12, 13, 14, 99, -1)), 513, 5, 0)
        header += struct.pack(">i", rng.choice((0, 0, 0, -1, 1, 1 << 20)))
        header += (
            struct.pack(">i", rng.choice((len(entries),) * 3 + (0, -1, len(entries) - 1, len(entries) + 9))) + entries
        )
        header += rng.choice((b"", b"", b"junk"))
        return Raw(content=frame(header, header_type=TYPE_BINARY), about="binary header")

    def _proxy(self) -> Raw:
        rng = self._random
        request = Request(code=224, opaque=5, ext={"cluster": "c0@@"}).encode()
        signature = b"\r\n\r\n\x00\r\nQUIT\n"
        addresses = bytes([1, 2, 3, 4, 5, 6, 7, 8]) + struct.pack(">HH", 11, 22)
        prefix = rng.choice(
            (
                b"PROXY TCP4 1.2.3.4 5.6.7.8 11 22\r\n",
                b"PROXY TCP6 ::1 ::2 11 22\r\n",
                b"PROXY UNKNOWN\r\n",
                b"PROXY UNKNOWN whatever it is\r\n",
                b"PROXY TCP4 1.2.3.4 5.6.7.8 11\r\n",
                b"PROXY TCP4 1.2.3.4 5.6.7.8 11 99999\r\n",
                b"PROXY TCP4 1.2.3 5.6.7.8 11 22\r\n",
                b"PROXY UDP4 1.2.3.4 5.6.7.8 11 22\r\n",
                b"PROXY TCP4 1.2.3.4 5.6.7.8 11 22 33\r\n",
                b"PROXY " + b"x" * 120 + b"\r\n",
                signature + b"\x21\x11" + struct.pack(">H", 12) + addresses,
                signature + b"\x20\x00" + struct.pack(">H", 0),
                signature + b"\x20\x11" + struct.pack(">H", 12) + addresses,
                signature + b"\x21\x11" + struct.pack(">H", 17) + addresses + b"\xea\x00\x02hi",
                signature + b"\x21\x11" + struct.pack(">H", 4) + b"abcd",
                signature + b"\x31\x11" + struct.pack(">H", 12) + addresses,
                signature + b"\x2f\x11" + struct.pack(">H", 12) + addresses,
                signature + b"\x21\x41" + struct.pack(">H", 12) + addresses,
            )
        )
        return Raw(content=prefix + request, about="PROXY header")

    def _foreign_protocol(self) -> Raw:
        first = self._random.choice(
            (
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"SSH-2.0-OpenSSH_9.2\r\n",
                b"*1\r\n$4\r\nPING\r\n",
                b"\x80" + b"\x01" * 20,
            )
        )
        return Raw(content=first, about="another protocol")

    def _garbage(self) -> Raw:
        rng = self._random
        data = b"".join(rng.choice(CHUNKS) for _ in range(rng.randrange(4, 12)))
        if data[:1] == b"\x16":  # a TLS hello that never ends is not what this is about
            data = b"\xff" + data
        # a length that is plausible would make both wait for the rest of the frame
        return Raw(
            content=b"\xff" + data + b"\x00" * 12 if data[:2] == b"\x00\x00" else data + b"\x00" * 12, about="garbage"
        )

    # --- bodies -------------------------------------------------------------------------------------------------------

    def registration(self) -> OddRegister:
        """A registration with an unusual body, a damaged compressed body, or unusual header values."""
        rng = self._random
        self._count += 1
        name = f"odd{self._count}"
        kind: Callable[[str], tuple[bytes, dict[str, str], str, int]] = rng.choice(
            (self._sloppy_body, self._sloppy_body, self._wrong_types, self._compact_body, self._odd_fields)
        )
        body, extra, about, version = kind(name)
        ext = {
            "clusterName": f"{name}@@",
            "brokerName": f"{name}@@",
            "brokerAddr": f"{name}@@:1",
            "brokerId": "0",
            "compressed": "false",
            **extra,
        }
        return OddRegister(name=name, body=body, ext=ext, about=about, version=version, binary=rng.random() < 0.2)

    def body(self) -> Ask:
        """An odd body for 217, 322 or 318."""
        rng = self._random
        conn = rng.choice(("q0", "q1"))
        if rng.random() < 0.5:
            version = {
                "counter": rng.choice((0, "1", None, 2.5)),
                "stateVersion": rng.choice((0, "0", None)),
                "timestamp": 1000,
            }
            text, _ = SloppyJson(rng).write(version)
            ext = {"clusterName": "c0@@", "brokerAddr": "127.0.0.1:1", "brokerName": "b0@@", "brokerId": "0"}
            return Ask(conn=conn, code=322, ext=ext, body=text)
        queue = {
            "brokerName": "b0@@",
            "perm": rng.choice((6, "4", 2.5, None)),
            "readQueueNums": 4,
            "writeQueueNums": "5",
        }
        text, _ = SloppyJson(rng).write({"queueDatas": [queue]})
        self._count += 1
        # a topic of its own: Java stores what stands before a bad entry only where the topic is there already
        return Ask(conn=conn, code=217, ext={"topic": f"odd{self._count}@@"}, body=text)

    def _document(self, name: str) -> dict[str, Any]:
        topics = {
            f"{name}-{n}@@": {
                "attributes": {"+message.type": "NORMAL"},
                "order": False,
                "perm": 6,
                "readQueueNums": 4,
                "topicFilterType": "SINGLE_TAG",
                "topicName": f"{name}-{n}@@",
                "topicSysFlag": 0,
                "writeQueueNums": 4,
            }
            for n in range(2)
        }
        mapping = {
            "bname": f"{name}@@",
            "currIdMap": {"0": 0, "3": 1},
            "epoch": 1,
            "topic": f"{name}-0@@",
            "totalQueues": 4,
        }
        return {
            "filterServerList": ["10.0.0.1:1"],
            "topicConfigSerializeWrapper": {
                "dataVersion": {"counter": 1, "stateVersion": 0, "timestamp": 1000},
                "topicConfigTable": topics,
                "topicQueueMappingInfoMap": {f"{name}-0@@": mapping},
            },
        }

    def _sloppy_body(self, name: str) -> tuple[bytes, dict[str, str], str, int]:
        version = self._random.choice((513, 513, 36))
        document = self._document(name)
        if version == 36:
            document = document["topicConfigSerializeWrapper"]
        text, what = SloppyJson(self._random).write(document)
        return text, {}, f"body {what}", version

    def _wrong_types(self, name: str) -> tuple[bytes, dict[str, str], str, int]:
        """One value anywhere in the body has another type, is missing, or is null."""
        rng = self._random
        document = self._document(name)
        path = _any_path(document, rng)
        holder = document
        for step in path[:-1]:
            holder = holder[step]
        value = rng.choice((None, None, "x", "", "7", 7, 7.9, -1, True, [], {}, [7], {"a": 1}, 2**40, "missing"))
        if value == "missing":
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
        text = json.dumps(document, separators=(",", ":"))
        return text.encode(), {}, f"{'.'.join(map(str, path))} = {value!r}", 513

    def _compact_body(self, name: str) -> tuple[bytes, dict[str, str], str, int]:
        """The compressed form, damaged in one place."""
        rng = self._random
        lines = [f"{name}-{n} 4 4 6 SINGLE_TAG {{}}" for n in range(2)]  # no placeholder: it would be deflated
        lines[0] = rng.choice(
            (
                lines[0],
                lines[0],
                f"{name}-0 4 4 6 MULTI_TAG",
                f"{name}-0 4 4 6 OTHER_TAG",
                f"{name}-0 4 4 6",
                f"{name}-0 4 x 6 SINGLE_TAG",
                f"{name}-0 4 4 6 SINGLE_TAG {{bad",
                f"{name}-0  4 4 6 SINGLE_TAG",
                f"{name}-0 +4 4 6 SINGLE_TAG {{}} more",
                "",
            )
        )
        parts = [b'{"counter":1,"stateVersion":0,"timestamp":1000}', *(line.encode() for line in lines)]
        filters = rng.choice((b"[]", b'["10.0.0.1:1"]', b"", b"junk", b"{}", b"null"))
        content = _counted(parts[0]) + struct.pack(">i", rng.choice((2, 2, 2, 2, 1, 3, -1)))
        content += b"".join(map(_counted, parts[1:])) + _counted(filters)
        version = rng.choice((513, 513, 412))
        if version >= 413 and rng.random() < 0.9:
            content += struct.pack(">i", 0)
        body = zlib.compress(content, rng.choice((1, 9)))
        about = rng.choice(("whole", "whole", "cut", "flipped", "junk after it", "no zlib"))
        if about == "cut":
            body = body[: rng.randrange(1, len(body))]
        elif about == "flipped":
            where = rng.randrange(2, len(body))
            body = body[:where] + bytes([body[where] ^ 1]) + body[where + 1 :]
        elif about == "junk after it":
            body += b"junk"
        elif about == "no zlib":
            body = content
        compressed = rng.choice(("true", "true", "true", "TRUE", "false"))
        return body, {"compressed": compressed}, f"compressed body {about}, {lines[0]!r}, {filters!r}", version

    def _odd_fields(self, name: str) -> tuple[bytes, dict[str, str], str, int]:
        """A valid body with unusual header values."""
        rng = self._random
        extra = rng.choice(
            (
                {"brokerId": "x"},
                {"brokerId": "+0"},
                {"brokerId": " 0"},
                {"brokerId": ""},
                {"brokerId": str(2**70)},
                {"bodyCrc32": "1"},
                {"bodyCrc32": "x"},
                {"bodyCrc32": "-5"},
                {"haServerAddr": ""},
                {"enableActingMaster": "yes"},
                {"heartbeatTimeoutMillis": "x"},
                {"clusterName": ""},
                {"brokerName": f"{name}\n@@"},
                {"clusterName": f"{name}\x7f@@"},
                {"__ZONE_NAME": "é/\u2028"},
                {"compressed": "yes"},
            )
        )
        document = self._document(name)
        return json.dumps(document).encode(), extra, f"fields {extra}", rng.choice((513, 479, -1))


def _any_path(document: Any, rng: random.Random) -> list[Any]:
    """A path to a random value of the document."""
    path: list[Any] = []
    while isinstance(document, (dict, list)) and document and (not path or rng.random() < 0.8):
        step = rng.choice(list(document)) if isinstance(document, dict) else rng.randrange(len(document))
        path.append(step)
        document = document[step]
    return path


def _counted(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data

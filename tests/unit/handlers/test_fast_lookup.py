"""The fast path answers known look-ups exactly as the normal path does, or leaves them to it."""

import json
import random
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from routebook.events import LookupMinute
from routebook.handlers import Caller, dispatch
from routebook.handlers.fast_lookup import FastLookup
from routebook.wire.codec import decode, encode, encode_reply
from routebook.wire.command import Command, Reply, SerializeType
from tests.support.core_client import CoreClient

PLAIN = '{"code":105,"extFields":{"topic":"A"},"flag":0,"language":"JAVA","opaque":%d,"version":513}'


def framed(header: str | bytes, body: bytes = b"", kind: int = 0) -> bytes:
    data = header.encode() if isinstance(header, str) else header
    word = len(data) | kind << 24
    return (4 + len(data) + len(body)).to_bytes(4, "big") + word.to_bytes(4, "big") + data + body


class Served:
    """A NameServer with the topics A and B, its fast path, and one caller."""

    def __init__(self, *, max_entries: int = 100, **settings: str) -> None:
        self.asker = CoreClient(**settings)
        self.asker.register("A", "B")
        self.lookups = FastLookup(self.asker.nameserver, max_entries=max_entries)
        self.caller = Caller(7, "10.0.0.9:5000")

    def normal(self, frame: bytes) -> bytes:
        """The normal path; the fast path learns from it."""
        command = decode(frame[4:], count())
        reply = dispatch(self.asker.nameserver, command, self.caller, self.asker.now_ms).reply
        assert reply is not None
        if reply.code == 0 and command.code == 105:
            self.lookups.learn(command, frame, 0)
        return encode_reply(command.opaque, reply)

    def fast(self, data: bytes, *, max_bytes: int = 1 << 20) -> tuple[int, bytes]:
        answers: list[bytes] = []
        end, _, _ = self.lookups.answer(self.caller, data, 0, answers, max_bytes=max_bytes)
        return end, b"".join(answers)

    def fast_one(self, data: bytes) -> tuple[int, bytes]:
        """The fast path for data that is one look-up."""
        pieces = self.lookups.answer_one(self.caller, data)
        return (0, b"") if pieces is None else (len(data), b"".join(pieces))


WAYS = pytest.mark.parametrize("way", [Served.fast, Served.fast_one])
Way = Callable[[Served, bytes], tuple[int, bytes]]


@WAYS
def test_answers_differ_only_in_the_opaque(way: Way) -> None:
    served = Served()
    served.normal(framed(PLAIN % 1234))
    again = framed(PLAIN % 9876)
    assert way(served, again) == (len(again), served.normal(again))


@WAYS
@pytest.mark.parametrize("opaque", [1, 9, 10, 123_456_789])
def test_opaques_of_one_to_nine_digits_are_answered(way: Way, opaque: int) -> None:
    served = Served()
    frame = framed(PLAIN % opaque)
    wanted = served.normal(frame)
    assert way(served, frame) == (len(frame), wanted)


@pytest.mark.parametrize("opaque", [0, -5, 1_234_567_890, 2**31 - 1])
def test_other_opaques_are_not_learned(opaque: int) -> None:
    served = Served()
    served.normal(framed(PLAIN % opaque))
    assert len(served.lookups) == 0


@WAYS
@pytest.mark.parametrize("digits", ["0012", "12 4", "-123", "+123", "12.4", "1_23", "0x12", "1e10", '"12"', "null"])
def test_an_opaque_that_is_not_plain_digits_takes_the_normal_path(way: Way, digits: str) -> None:
    served = Served()
    served.normal(framed(PLAIN % 1234))
    frame = framed(PLAIN.replace("%d", digits))
    assert way(served, frame) == (0, b"")


def test_several_look_ups_are_answered_up_to_the_first_unknown_frame() -> None:
    served = Served()
    other = PLAIN.replace('"A"', '"B"')
    frames = [framed(PLAIN % 11), framed(other % 12), framed(PLAIN % 13)]
    wanted = b"".join(map(served.normal, frames))
    unknown = framed(other.replace("JAVA", "CPP") % 14)
    known = b"".join(frames)
    assert served.fast(known + unknown + frames[0]) == (len(known), wanted)
    assert served.fast(known, max_bytes=1)[0] == len(frames[0])


@WAYS
def test_an_incomplete_frame_is_not_answered(way: Way) -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    served.normal(frame)
    for size in range(len(frame)):
        assert way(served, frame[:size]) == (0, b"")


def test_look_ups_on_the_fast_path_are_counted() -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    size = len(served.normal(frame)) - len(encode_reply(1234, Reply()))
    served.fast(frame * 3)
    served.fast_one(frame)
    assert _counted(served) == [("10.0.0.9", "JAVA", 513, 5, 5 * size)]
    served.fast(frame)
    assert _counted(served) == [("10.0.0.9", "JAVA", 513, 1, size)], "in a new minute as well"
    served.fast_one(frame)
    assert _counted(served) == [("10.0.0.9", "JAVA", 513, 1, size)]


@WAYS
def test_a_stale_route_is_not_answered(way: Way) -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    before = served.normal(frame)
    served.asker.register("A", "B", "C", broker="broker-b", addr="127.0.0.1:20911")
    assert way(served, frame) == (0, b"")
    after = served.normal(frame)
    assert after != before
    assert way(served, frame) == (len(frame), after)
    served.asker.nameserver.settings_revision += 1
    assert way(served, frame) == (0, b"")


@pytest.mark.parametrize(
    "header",
    [
        PLAIN.replace('"topic":"A"', '"topic":"A","opaque":"3"'),  # twice
        PLAIN.replace('"topic":"A"', '"topic":"\\u0041"'),  # escaped
        PLAIN.replace('"code":105', "'code':105"),  # not JSON
        PLAIN.replace('"topic":"A"', '"topic":"A","__ZONE_MODE":"true","__ZONE_NAME":"z"'),  # not from the cache
        PLAIN.replace('"flag":0', '"flag":2'),  # not answered
        PLAIN.replace('"topic":"A"', '"topic":"A","x":"' + "y" * 600 + '"'),  # long
        PLAIN.replace('"version"', '"remark":"' + "y" * 600 + '","version"'),  # long after the opaque
    ],
)
def test_unusual_headers_are_not_learned(header: str) -> None:
    served = Served()
    served.normal(framed(header % 1234))
    assert len(served.lookups) == 0


def test_frames_with_a_body_or_a_binary_header_are_not_learned() -> None:
    served = Served()
    served.normal(framed(PLAIN % 1234, b"{}"))
    served.normal(encode(Command(code=105, opaque=1234, ext={"topic": "A"}), SerializeType.ROCKETMQ))
    assert len(served.lookups) == 0


def test_the_number_of_known_look_ups_is_bounded() -> None:
    served = Served(max_entries=10)
    headers = [PLAIN.replace('"A"', f'"A","n":"{n}"') for n in range(30)]
    for header in headers:
        served.normal(framed(header % 55))
        assert len(served.lookups) <= 10
    assert served.fast(framed(headers[25] % 55))[0] > 0


@WAYS
def test_random_headers_get_the_same_answer_on_both_paths(way: Way) -> None:
    chance = random.Random(5)
    served = Served(max_entries=1000)
    learned = 0
    for _ in range(3000):
        header = _random_header(chance)
        first, second = (framed(header.replace(b"@", b"%d" % chance.randrange(1, 10**6))) for _ in range(2))
        served.normal(first)
        end, answer = way(served, second)
        if end:
            learned += 1
            assert (end, answer) == (len(second), served.normal(second))
    assert learned > 300


def _random_header(chance: random.Random) -> bytes:
    ext: dict[str, Any] = {"topic": chance.choice(["A", "B", "none"])}
    if chance.random() < 0.2:
        ext["acceptStandardJsonOnly"] = chance.choice(["true", "false", "TRUE"])
    if chance.random() < 0.1:
        ext[chance.choice(["opaque", "a", "__ZONE_MODE"])] = chance.choice(["true", "x", '"opaque":1', "\\"])
    fields: list[tuple[str, Any]] = [
        ("code", 105),
        ("extFields", ext),
        ("flag", chance.choice([0, 0, 0, 4])),
        ("language", chance.choice(["JAVA", "CPP", "MARTIAN"])),
        ("version", chance.choice([0, 63, 317, 513])),
        ("opaque", "@"),
    ]
    chance.shuffle(fields)
    separators = chance.choice([(",", ":"), (", ", ": ")])
    return json.dumps(dict(fields), separators=separators).encode().replace(b'"@"', b"@")


def _counted(served: Served) -> list[tuple[str, str, int, int, int]]:
    rows = served.asker.nameserver.meter.take(60_000)
    return [
        (row.client, row.language, row.version, row.count, row.bytes) for row in rows if isinstance(row, LookupMinute)
    ]

"""Look-ups that came before are answered from their bytes: exactly as all others are, or not at all."""

import json
import random
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from routebook.events import LookupMinute
from routebook.handlers import Caller, dispatch
from routebook.handlers.fast_lookup import Repeats
from routebook.wire.codec import decode, encode, encode_reply
from routebook.wire.command import Command, Reply, SerializeType
from tests.support.requests import Asker

PLAIN = '{"code":105,"extFields":{"topic":"A"},"flag":0,"language":"JAVA","opaque":%d,"version":513}'


def framed(header: str | bytes, body: bytes = b"", kind: int = 0) -> bytes:
    data = header.encode() if isinstance(header, str) else header
    word = len(data) | kind << 24
    return (4 + len(data) + len(body)).to_bytes(4, "big") + word.to_bytes(4, "big") + data + body


class Served:
    """A NameServer with the topics A and B, its repeats, and one caller."""

    def __init__(self, *, most: int = 100, **settings: str) -> None:
        self.asker = Asker(**settings)
        self.asker.register("A", "B")
        self.repeats = Repeats(most=most)
        self.caller = Caller(7, "10.0.0.9:5000")

    def slowly(self, frame: bytes) -> bytes:
        """As any request is answered; and learned from it."""
        command = decode(frame[4:], count())
        reply = dispatch(self.asker.nameserver, command, self.caller, self.asker.now_ms).reply
        assert reply is not None
        if reply.code == 0 and command.code == 105:
            self.repeats.learn(command, frame, 0)
        return encode_reply(command.opaque, reply)

    def quickly(self, data: bytes, *, most_bytes: int = 1 << 20) -> tuple[int, bytes]:
        answers: list[bytes] = []
        end, _, _ = self.repeats.answer(self.asker.nameserver, self.caller, data, 0, answers, most_bytes=most_bytes)
        return end, b"".join(answers)

    def at_once(self, data: bytes) -> tuple[int, bytes]:
        """The same for one look-up alone."""
        pieces = self.repeats.answer_one(self.asker.nameserver, self.caller, data)
        return (0, b"") if pieces is None else (len(data), b"".join(pieces))


WAYS = pytest.mark.parametrize("way", [Served.quickly, Served.at_once])
Way = Callable[[Served, bytes], tuple[int, bytes]]


@WAYS
def test_the_same_answer_but_for_the_opaque(way: Way) -> None:
    served = Served()
    served.slowly(framed(PLAIN % 1234))
    again = framed(PLAIN % 9876)
    assert way(served, again) == (len(again), served.slowly(again))


@WAYS
@pytest.mark.parametrize("opaque", [1, 9, 10, 123_456_789])
def test_any_number_of_digits(way: Way, opaque: int) -> None:
    served = Served()
    frame = framed(PLAIN % opaque)
    wanted = served.slowly(frame)
    assert way(served, frame) == (len(frame), wanted)


@pytest.mark.parametrize("opaque", [0, -5, 1_234_567_890, 2**31 - 1])
def test_odd_opaques_take_the_slow_way(opaque: int) -> None:
    served = Served()
    served.slowly(framed(PLAIN % opaque))
    assert len(served.repeats) == 0


@WAYS
@pytest.mark.parametrize("digits", ["0012", "12 4", "-123", "+123", "12.4", "1_23", "0x12", "1e10", '"12"', "null"])
def test_what_is_no_plain_number_is_left_to_the_slow_way(way: Way, digits: str) -> None:
    served = Served()
    served.slowly(framed(PLAIN % 1234))
    frame = framed(PLAIN.replace("%d", digits))
    assert way(served, frame) == (0, b"")


def test_several_at_once_up_to_the_first_unknown() -> None:
    served = Served()
    other = PLAIN.replace('"A"', '"B"')
    frames = [framed(PLAIN % 11), framed(other % 12), framed(PLAIN % 13)]
    wanted = b"".join(map(served.slowly, frames))
    stranger = framed(other.replace("JAVA", "CPP") % 14)
    known = b"".join(frames)
    assert served.quickly(known + stranger + frames[0]) == (len(known), wanted)
    assert served.quickly(known, most_bytes=1)[0] == len(frames[0])


@WAYS
def test_a_frame_in_parts_is_left_alone(way: Way) -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    served.slowly(frame)
    for size in range(len(frame)):
        assert way(served, frame[:size]) == (0, b"")


def test_look_ups_are_counted_all_the_same() -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    size = len(served.slowly(frame)) - len(encode_reply(1234, Reply()))
    served.quickly(frame * 3)
    served.at_once(frame)
    assert _counted(served) == [("10.0.0.9", "JAVA", 513, 5, 5 * size)]
    served.quickly(frame)
    assert _counted(served) == [("10.0.0.9", "JAVA", 513, 1, size)], "in a new minute as well"
    served.at_once(frame)
    assert _counted(served) == [("10.0.0.9", "JAVA", 513, 1, size)]


@WAYS
def test_nothing_stale_is_answered(way: Way) -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    before = served.slowly(frame)
    served.asker.register("A", "B", "C", broker="broker-b", addr="127.0.0.1:20911")
    assert way(served, frame) == (0, b"")
    after = served.slowly(frame)
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
def test_what_is_not_plain_is_not_learned(header: str) -> None:
    served = Served()
    served.slowly(framed(header % 1234))
    assert len(served.repeats) == 0


def test_a_body_and_a_binary_header_are_not_learned() -> None:
    served = Served()
    served.slowly(framed(PLAIN % 1234, b"{}"))
    served.slowly(encode(Command(code=105, opaque=1234, ext={"topic": "A"}), SerializeType.ROCKETMQ))
    assert len(served.repeats) == 0


def test_memory_is_bounded_and_newcomers_get_their_turn() -> None:
    served = Served(most=10)
    headers = [PLAIN.replace('"A"', f'"A","n":"{n}"') for n in range(30)]
    for header in headers:
        served.slowly(framed(header % 55))
        assert len(served.repeats) <= 10
    assert served.quickly(framed(headers[25] % 55))[0] > 0


@WAYS
def test_random_headers_are_answered_alike_both_ways(way: Way) -> None:
    chance = random.Random(5)
    served = Served(most=1000)
    learned = 0
    for _ in range(3000):
        header = _random_header(chance)
        first, second = (framed(header.replace(b"@", b"%d" % chance.randrange(1, 10**6))) for _ in range(2))
        served.slowly(first)
        end, answer = way(served, second)
        if end:
            learned += 1
            assert (end, answer) == (len(second), served.slowly(second))
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

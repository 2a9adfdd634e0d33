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


def binary(opaque: int, **ext: str) -> bytes:
    fields: dict[str, str | None] = {"topic": "A", **ext}
    return encode(Command(code=105, opaque=opaque, ext=fields), SerializeType.ROCKETMQ)


class Served:
    """A NameServer with the topics A and B, its fast path, and one caller."""

    def __init__(self, *, max_entries: int = 100, cache_bytes: int = 1 << 20) -> None:
        self.asker = CoreClient(**{"routebook.routeCacheBytes": str(cache_bytes)})
        self.asker.register("A", "B")
        self.lookups = FastLookup(self.asker.nameserver, max_entries=max_entries)
        self.caller = Caller(7, "10.0.0.9:5000")

    def normal(self, frame: bytes) -> bytes:
        """The normal path; the fast path learns from it."""
        command = decode(frame[4:], count())
        reply = dispatch(self.asker.nameserver, command, self.caller, self.asker.now_ms).reply
        assert reply is not None
        if reply.code in (0, 17) and command.code == 105:
            self.lookups.learn(command, reply, frame, 0)
        return encode_reply(command.opaque, reply)

    def fast(self, data: bytes, *, max_bytes: int = 1 << 20) -> tuple[int, bytes]:
        answers: list[bytes] = []
        end, _, _, _ = self.lookups.answer(self.caller, data, 0, answers, max_bytes=max_bytes)
        return end, b"".join(answers)

    def fast_one(self, data: bytes) -> tuple[int, bytes]:
        """The fast path for data that is one look-up."""
        found = self.lookups.answer_at(self.caller, data, 0, None, None, len(data))
        return (0, b"") if found is None else (found[0], b"".join(found[1]))


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


def test_json_frames_with_a_body_and_long_binary_frames_are_not_learned() -> None:
    served = Served()
    served.normal(framed(PLAIN % 1234, b"{}"))
    served.normal(binary(1234, x="y" * 600))
    assert len(served.lookups) == 0


@WAYS
@pytest.mark.parametrize("opaque", [0, 7, -5, 123_456_789, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("topic", ["A", "none"])
def test_binary_headers_are_answered_with_any_opaque(way: Way, topic: str, opaque: int) -> None:
    served = Served()
    served.normal(binary(1234, topic=topic))
    again = binary(opaque, topic=topic)
    assert way(served, again) == (len(again), served.normal(again))
    for size in range(len(again)):
        assert way(served, again[:size]) == (0, b"")


@WAYS
def test_a_topic_without_a_route_is_answered_until_it_appears(way: Way) -> None:
    served = Served()
    frame = framed(PLAIN.replace('"A"', '"new"') % 1234)
    missing = served.normal(frame)
    assert way(served, frame) == (len(frame), missing)
    served.asker.register("other", "another", broker="broker-b", addr="127.0.0.1:20911")
    assert way(served, frame) == (len(frame), missing), "another topic appeared"
    served.asker.register("new", "newer", broker="broker-c", addr="127.0.0.1:30911")
    other_client = framed(PLAIN.replace('"A"', '"new"').replace("JAVA", "CPP") % 1234)
    served.normal(other_client)  # the route is cached
    assert way(served, frame) == (0, b"")
    found = served.normal(frame)
    assert way(served, frame) == (len(frame), found)
    served.asker.ask(216, {"topic": "new"})
    assert way(served, frame) == (0, b"")
    assert served.normal(frame) == missing
    assert way(served, frame) == (len(frame), missing)
    assert len(served.lookups) == 2


@WAYS
@pytest.mark.parametrize("setting", [b"needWaitForService=true", b"orderMessageEnable=true"])
def test_a_changed_setting_invalidates_all_answers(way: Way, setting: bytes) -> None:
    served = Served()
    frames = [framed(PLAIN.replace('"A"', f'"{topic}"') % 1234) for topic in ("A", "none")]
    for frame in frames:
        served.normal(frame)
        assert way(served, frame)[0]
    assert served.asker.ask(318, None, setting).code == 0
    for frame in frames:
        assert way(served, frame) == (0, b"")


def test_misses_are_bounded_and_do_not_displace_routes() -> None:
    served = Served(max_entries=10)
    known = framed(PLAIN % 1234)
    served.normal(known)
    for n in range(100):
        served.normal(framed(PLAIN.replace('"A"', f'"none-{n}"') % 55))
        assert len(served.lookups) <= 6
    assert served.fast(known)[0] == len(known)


def test_misses_on_the_fast_path_are_counted() -> None:
    served = Served()
    frame = framed(PLAIN.replace('"A"', '"none"') % 1234)
    served.normal(frame)
    assert served.lookups.answer(served.caller, frame * 3, 0, [], max_bytes=1 << 20)[1:3] == (3, 3)
    served.fast_one(frame)
    (row,) = [row for row in served.asker.nameserver.meter.take(60_000) if isinstance(row, LookupMinute)]
    assert (row.topic, row.count, row.misses, row.bytes) == ("none", 5, 5, 0)


@WAYS
def test_a_look_up_is_answered_only_with_the_permit_it_was_learned_with(way: Way) -> None:
    served = Served()
    frame = framed(PLAIN % 1234)
    command = decode(frame[4:], count())
    reply = dispatch(served.asker.nameserver, command, served.caller, served.asker.now_ms).reply
    assert reply is not None
    permit = object()
    served.lookups.learn(command, reply, frame, 0, permit)
    assert way(served, frame) == (0, b"")
    assert served.lookups.answer_at(served.caller, frame, 0, object(), None) is None
    assert served.lookups.answer_at(served.caller, frame, 0, permit, None) is not None


def test_an_evicted_route_is_not_kept_alive() -> None:
    served = Served(cache_bytes=2000)
    frame = framed(PLAIN % 1234)
    served.normal(frame)
    entry = next(iter(served.lookups._found.values())).entry
    for n in range(8):
        served.asker.nameserver.cache.put((f"t{n}", True), b"x" * 200, revision=1, base_revision=0)
    assert (entry.body, entry.revision) == (b"", -1)
    assert served.fast(frame) == (0, b"")


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

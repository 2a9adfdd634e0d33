"""Bodies are decoded with the topic cache exactly as without it."""

import json
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from routebook.errors import RoutebookError
from routebook.model import RegisterBody, TopicConfig
from routebook.steps import finish
from routebook.wire import topic_blocks
from routebook.wire.register_body import DecodedBody, decode_in_steps, decode_register_body
from routebook.wire.topic_blocks import TopicBlock
from routebook.wire.topic_cache import TopicCache, TopicTable


def topic(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "attributes": {},
        "order": False,
        "perm": 6,
        "readQueueNums": 8,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": 0,
        "writeQueueNums": 8,
        **fields,
    }


def body_of(table: Any, **wrapper: Any) -> bytes:
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1}
    whole = {"dataVersion": version, "topicConfigTable": table, **wrapper}
    whole.setdefault("topicQueueMappingInfoMap", {})
    return json.dumps({"filterServerList": ["f"], "topicConfigSerializeWrapper": whole}, separators=(",", ":")).encode()


def read(
    body: bytes, cache: TopicCache, *, max_length: int = 255, most: int = 100, previous: Sequence[TopicBlock] = ()
) -> DecodedBody | str:
    try:
        return finish(
            decode_in_steps(
                body,
                version=513,
                compressed=False,
                max_topics=most,
                max_inflated=1 << 20,
                now_ms=5,
                cache=cache,
                max_name_length=max_length,
                previous=previous,
            )
        )
    except RoutebookError as error:
        return f"{type(error).__name__}: {error}"


def alike(body: bytes, cache: TopicCache, *, most: int = 100, previous: Sequence[TopicBlock] = ()) -> DecodedBody | str:
    """Decode with the cache; the result is the same as without it."""
    found = read(body, cache, most=most, previous=previous)
    plain: RegisterBody | str
    try:
        plain = decode_register_body(body, version=513, compressed=False, now_ms=5, max_topics=most)
    except RoutebookError as error:
        plain = f"{type(error).__name__}: {error}"
    if isinstance(found, str):
        assert found == plain
    else:
        assert found.body.has_unique_names == (found.table is not None)
        assert msgspec.structs.replace(found.body, has_unique_names=False) == plain
    return found


def table_of(found: DecodedBody | str) -> TopicTable:
    assert isinstance(found, DecodedBody)
    assert found.table is not None
    assert found.table.topics == found.body.topics
    return found.table


TABLE = {name: topic(name) for name in ("A", "B", "C")}


def test_cached_topics_are_not_decoded_again() -> None:
    cache = TopicCache()
    first, second = table_of(alike(body_of(TABLE), cache)), table_of(alike(body_of(TABLE), cache))
    assert (first.uncached, second.uncached) == (first.topics, ())
    assert all(one is other for one, other in zip(first.topics, second.topics, strict=True))


def test_a_changed_topic_is_decoded() -> None:
    cache = TopicCache()
    alike(body_of(TABLE), cache)
    found = table_of(alike(body_of(TABLE | {"B": topic("B", perm=4)}), cache))
    assert found.uncached == (TopicConfig(topic_name="B", perm=4, read_queue_nums=8, write_queue_nums=8),)


ODD_BODIES = {
    "no table": b'{"topicConfigSerializeWrapper":{}}',
    "empty table": body_of({}),
    "a null topic": body_of(TABLE | {"D": None}),
    "no name": body_of({"A": topic("A"), "D": {"perm": 6}}),
    "another name": body_of({"A": topic("B")}),
    "a table beside the wrapper": b'{"topicConfigTable":{"A":{"topicName":"A"}},"topicConfigSerializeWrapper":{}}',
    "and one that looks like the mark": b'{"topicConfigTable":{"A":{"topicName":"A"}},"topicConfigSerializeWrapper":'
    b'{"topicConfigTable":{"":{}}}}',
    "two wrappers": b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"A":{"topicName":"A"}}},'
    b'"topicConfigSerializeWrapper":{}}',
    "one name twice": body_of(TABLE).replace(b'"C"', b'"A"'),
    "attributes last": b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"A":{"topicName":"A","attributes":'
    b'{"a":"b"}}}}}',
    "objects within": b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"A":{"x":{},"B":{"topicName":"B"},'
    b'"topicName":"A"}}}}',
    "ended in the middle, and gone on": body_of(TABLE, topicQueueMappingDetailMap={}).replace(b'},"B"', b'}}B"'),
    "another divider": body_of(TABLE, topicQueueMappingDetailMap={}).replace(b'},"C"', b'xyzC"'),
    "ended after the first": body_of(TABLE).replace(b'},"B"', b'}},"B"'),
    "objects in the attributes": body_of(TABLE | {"A": topic("A", attributes={"x": {"y": {}}})}),
    "all of 5.x": body_of(TABLE, topicQueueMappingDetailMap={}),
    "mappings of 5.x": body_of(TABLE, topicQueueMappingDetailMap={"A": {"a": {}}, "B": {}}),
    "4.x": json.dumps({"topicConfigSerializeWrapper": {"topicConfigTable": TABLE}}, separators=(",", ":")).encode(),
    "cut in the middle": body_of(TABLE)[:200],
    "null": b"null",
    "a number that is none": body_of(TABLE).replace(b'"perm":6', b'"perm":6x'),
    "wrong kind": body_of(TABLE | {"D": topic("D", attributes=3)}),
    "not UTF-8 in what is skipped": body_of(TABLE | {"D": topic("D", attributes={"a": "@"})}).replace(b"@", b"\xff"),
    "not UTF-8 in the rest": body_of(TABLE, more="@").replace(b"@", b"\xff"),
    "escaped name": body_of(TABLE | {'a"b': topic('a"b')}),
    "bare keys": body_of(TABLE, topicQueueMappingInfoMap={"A": {"bname": "b", "currIdMap": {"1": 2}}}).replace(
        b'"1":', b"1:"
    ),
}


@pytest.mark.parametrize("name", ODD_BODIES)
def test_unusual_bodies(name: str) -> None:
    for before in ([], [body_of(TABLE)], [ODD_BODIES[name]]):
        cache = TopicCache()
        for body in before:
            alike(body, cache)
        alike(ODD_BODIES[name], cache)
        alike(body_of(TABLE), cache)


@pytest.mark.parametrize("name", ODD_BODIES)
@pytest.mark.parametrize("earlier", ["A", "AB", "ABC", "BC", "C", "ABCD"])
def test_unusual_bodies_after_a_previous_table(short_blocks: None, name: str, earlier: str) -> None:
    cache = TopicCache()
    previous = table_of(alike(body_of({one: topic(one) for one in earlier}), cache)).blocks
    assert previous
    alike(ODD_BODIES[name], cache, previous=previous)


def test_only_the_difference_from_the_previous_table_is_decoded(short_blocks: None) -> None:
    table = {f"T{number}": topic(f"T{number}") for number in range(20)}
    previous = table_of(alike(body_of(table), TopicCache())).blocks
    before = topic_blocks.topics_of(previous)
    assert before == tuple(TopicConfig(topic_name=name, read_queue_nums=8, write_queue_nums=8) for name in table)
    changes: dict[str, dict[str, Any]] = {
        "the same": table,
        "one changed": table | {"T9": topic("T9", writeQueueNums=12345)},
        "the first": table | {"T0": topic("T0", perm=4)},
        "the last": table | {"T19": topic("T19", perm=4)},
        "two": table | {"T5": topic("T5", perm=4), "T11": topic("T11", perm=4)},
        "one more at the end": table | {"new": topic("new")},
        "one more in front": {"new": topic("new")} | table,
        "one less": {name: one for name, one in table.items() if name != "T9"},
        "a block less": {name: one for name, one in table.items() if name not in {"T8", "T9", "T10", "T11"}},
        "the last one less": {name: one for name, one in table.items() if name != "T19"},
        "the first ones less": {name: one for name, one in table.items() if name not in {"T0", "T1", "T2", "T3"}},
        "another order": dict(reversed(table.items())),
        "two changed places": table | {"T9": topic("T10"), "T10": topic("T9")},
    }
    for what, changed in changes.items():
        decoded = alike(body_of(changed), TopicCache(), previous=previous)
        if what == "two changed places":
            continue  # names that differ from those in the topics: decoded as a whole
        found = table_of(decoded)
        assert topic_blocks.topics_of(found.blocks) == found.topics
        assert set(found.topics) - set(before) <= set(found.changed), what
        if what == "the same":
            assert (found.uncached, found.changed, found.blocks) == ((), (), previous)
        if what not in {"another order", "two"}:
            assert len(found.uncached) <= 4, what
        if what not in {"another order"}:
            assert set(found.changed) == set(found.topics) - set(before), what
        again = table_of(alike(body_of(changed), TopicCache(), previous=found.blocks))
        assert (again.uncached, again.changed) == ((), ())


def test_a_duplicate_name_is_found_beside_a_previous_table(short_blocks: None) -> None:
    table = {f"T{number}": topic(f"T{number}") for number in range(20)}
    previous = table_of(alike(body_of(table), TopicCache())).blocks
    for place in (0, 10, 19):
        body = body_of(table).replace(f'"T{place}"'.encode(), b'"T5"')
        found = alike(body, TopicCache(), previous=previous)
        assert isinstance(found, DecodedBody)
        assert found.table is None


def test_blocks_do_not_overlap(short_blocks: None) -> None:
    cache = TopicCache()
    body = body_of({name: topic(name) for name in ("A", "B", "},")})
    previous = table_of(alike(body, cache)).blocks
    assert len(previous) == 3
    alike(body.replace(b'},"},":{', b'},":{'), cache, previous=previous)


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_blocks, "_TOPICS_PER_BLOCK", 1)


def test_topics_are_cached_beside_many_mappings() -> None:
    details = {f"static-{number}": {"bname": "b", "totalQueues": 8} for number in range(500)}
    body = body_of(TABLE, topicQueueMappingDetailMap={}, topicQueueMappingInfoMap=details)
    found = table_of(alike(body, TopicCache()))
    assert found.uncached == found.topics


def test_the_limit_on_topics_holds_for_cached_topics() -> None:
    cache = TopicCache()
    alike(body_of(TABLE), cache)
    assert "3 topics in one registration" in str(alike(body_of(TABLE), cache, most=2))


@pytest.mark.parametrize("name", ["\x01", "x" * 20, "\u2028", "\x85"])
def test_a_name_that_may_be_invalid_is_not_cached(name: str) -> None:
    cache = TopicCache()
    body = json.dumps(json.loads(body_of({name: topic(name)})), ensure_ascii=False, separators=(",", ":")).encode()
    for _ in range(2):
        found = read(body, cache, max_length=10)
        assert isinstance(found, str) or [one.topic_name for one in found.unchecked] == [name]


def test_another_limit_on_names_empties_the_cache() -> None:
    cache = TopicCache()
    body = body_of({"long-name": topic("long-name")})
    previous = table_of(read(body, cache, max_length=20)).blocks
    found = table_of(read(body, cache, max_length=5, previous=previous))
    assert found.uncached == found.topics


def test_the_number_of_cached_topics_is_bounded() -> None:
    cache = TopicCache(max_entries=10)
    for number in range(27):
        alike(body_of({f"T{number}": topic(f"T{number}")}), cache)
        assert len(cache) <= 10
    assert table_of(read(body_of({"T26": topic("T26")}), cache)).uncached == ()


@pytest.mark.parametrize("length", [1, 2, 256])
def test_random_bodies_are_decoded_alike(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(topic_blocks, "_TOPICS_PER_BLOCK", length)
    chance = random.Random(11)
    cache = TopicCache(max_entries=500)
    earlier: list[tuple[TopicBlock, ...]] = [()]
    cached = partly = 0
    last = _random_body(chance)
    for _ in range(6000):
        last = _random_body(chance) if chance.random() < 0.4 else last
        body = bytearray(last)
        for _ in range(chance.choice([0, 0, 1, 1, 3])):
            at = chance.randrange(len(body))
            piece = chance.choice([b"{", b"}", b'"', b",", b":", b'},"', b'":{', b"\\", b" ", b"A", b"\xc3", b"1", b""])
            body[at : at + chance.choice([0, 1, 1, 9])] = piece
        previous = chance.choice([earlier[-1], chance.choice(earlier)])
        found = alike(bytes(body), cache, previous=previous)
        if isinstance(found, DecodedBody) and found.table is not None:
            cached += 1
            partly += any(block is one for block in found.table.blocks for one in previous)
            if previous:
                assert set(found.table.topics) - set(topic_blocks.topics_of(previous)) <= set(found.table.changed)
            earlier = [*earlier[-20:], found.table.blocks]
    assert cached > 1000
    assert partly > 50


def _random_body(chance: random.Random) -> bytes:
    table: dict[str, Any] = {}
    for _ in range(chance.randrange(5)):
        name = chance.choice(["A", "B", "C{", "D}", 'E"', "F,", "ü", "G\\"])
        table[name] = topic(name, perm=chance.choice([2, 4, 6]))
        if chance.random() < 0.3:
            table[name]["attributes"] = chance.choice([{"a": "b"}, {"a": {}}, {"}": '"},"x":{'}, None])
        if chance.random() < 0.1:
            table[name] = chance.choice([None, {}, {"topicName": "A", "x": {"y": {}}, "perm": 2}, 3])
    return body_of(table) if chance.random() < 0.8 else json.dumps(json.loads(body_of(table))).encode()

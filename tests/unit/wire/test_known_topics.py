"""Topics that are known by their bytes are read exactly as those that are not, or not at all."""

import json
import random
from typing import Any

import pytest

from routebook.errors import RoutebookError
from routebook.model import RegisterBody, TopicConfig
from routebook.wire.known_topics import KnownTopics
from routebook.wire.register_body import decode_register_body


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
    whole = {"dataVersion": version, "topicConfigTable": table, "topicQueueMappingInfoMap": {}, **wrapper}
    return json.dumps({"filterServerList": ["f"], "topicConfigSerializeWrapper": whole}, separators=(",", ":")).encode()


def read(body: bytes, known: KnownTopics | None, *, longest: int = 255, most: int = 100) -> RegisterBody | str:
    try:
        return decode_register_body(
            body, version=513, compressed=False, max_topics=most, now_ms=5, known=known, longest_name=longest
        )
    except RoutebookError as error:
        return f"{type(error).__name__}: {error}"


def alike(body: bytes, known: KnownTopics, **limits: int) -> RegisterBody | str:
    """Read with what is known; it is the same as without."""
    found, plain = read(body, known, **limits), read(body, None, **limits)
    if isinstance(found, str) or isinstance(plain, str):
        assert found == plain
        return found
    assert (found.topics, found.data_version, found.mappings, found.filter_servers) == (
        plain.topics,
        plain.data_version,
        plain.mappings,
        plain.filter_servers,
    )
    return found


TABLE = {name: topic(name) for name in ("A", "B", "C")}


def test_the_second_time_nothing_is_new_and_the_objects_are_the_same() -> None:
    known = KnownTopics()
    first, second = alike(body_of(TABLE), known), alike(body_of(TABLE), known)
    assert isinstance(first, RegisterBody)
    assert isinstance(second, RegisterBody)
    assert first.topics is not None
    assert second.topics is not None
    assert (first.news, second.news) == (first.topics, ())
    assert all(one is other for one, other in zip(first.topics, second.topics, strict=True))


def test_one_that_changed_is_new() -> None:
    known = KnownTopics()
    alike(body_of(TABLE), known)
    found = alike(body_of(TABLE | {"B": topic("B", perm=4)}), known)
    assert isinstance(found, RegisterBody)
    assert found.news == (TopicConfig(topic_name="B", perm=4, read_queue_nums=8, write_queue_nums=8),)


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
def test_odd_bodies(name: str) -> None:
    for before in ([], [body_of(TABLE)], [ODD_BODIES[name]]):
        known = KnownTopics()
        for body in before:
            alike(body, known)
        alike(ODD_BODIES[name], known)
        alike(body_of(TABLE), known)


def test_too_many_are_refused_known_or_not() -> None:
    known = KnownTopics()
    alike(body_of(TABLE), known)
    assert "3 topics in one registration" in str(alike(body_of(TABLE), known, most=2))


@pytest.mark.parametrize("name", ["\x01", "x" * 20, "\u2028", "\x85"])
def test_a_name_that_is_to_be_looked_at_is_news_each_time(name: str) -> None:
    known = KnownTopics()
    body = json.dumps(json.loads(body_of({name: topic(name)})), ensure_ascii=False, separators=(",", ":")).encode()
    for _ in range(2):
        found = read(body, known, longest=10)
        assert isinstance(found, str) or found.news is None or [one.topic_name for one in found.news] == [name]


def test_another_limit_for_names_begins_anew() -> None:
    known = KnownTopics()
    body = body_of({"long-name": topic("long-name")})
    read(body, known, longest=20)
    found = read(body, known, longest=5)
    assert isinstance(found, RegisterBody)
    assert found.news == found.topics


def test_memory_is_bounded_and_newcomers_get_their_turn() -> None:
    known = KnownTopics(most=10)
    for number in range(27):
        alike(body_of({f"T{number}": topic(f"T{number}")}), known)
        assert len(known) <= 10
    found = read(body_of({"T26": topic("T26")}), known)
    assert isinstance(found, RegisterBody)
    assert found.news == ()


def test_whatever_is_known_bodies_are_read_alike() -> None:
    chance = random.Random(11)
    known = KnownTopics(most=500)
    quick = 0
    for _ in range(6000):
        body = bytearray(_random_body(chance))
        for _ in range(chance.choice([0, 0, 1, 1, 3])):
            at = chance.randrange(len(body))
            piece = chance.choice([b"{", b"}", b'"', b",", b":", b'},"', b'":{', b"\\", b" ", b"A", b"\xc3", b"1", b""])
            body[at : at + chance.choice([0, 1, 1, 9])] = piece
        found = alike(bytes(body), known)
        quick += isinstance(found, RegisterBody) and found.news is not None
    assert quick > 1000


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

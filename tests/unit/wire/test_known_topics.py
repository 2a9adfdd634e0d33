"""Topics that are known by their bytes are read exactly as those that are not, or not at all."""

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from routebook.errors import RoutebookError
from routebook.model import RegisterBody, TopicConfig, TopicRun
from routebook.wire import topic_runs
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
    whole = {"dataVersion": version, "topicConfigTable": table, **wrapper}
    whole.setdefault("topicQueueMappingInfoMap", {})
    return json.dumps({"filterServerList": ["f"], "topicConfigSerializeWrapper": whole}, separators=(",", ":")).encode()


def read(
    body: bytes, known: KnownTopics | None, *, longest: int = 255, most: int = 100, like: Sequence[TopicRun] = ()
) -> RegisterBody | str:
    limits = {"max_topics": most, "longest_name": longest}
    try:
        return decode_register_body(body, version=513, compressed=False, now_ms=5, known=known, like=like, **limits)
    except RoutebookError as error:
        return f"{type(error).__name__}: {error}"


def alike(body: bytes, known: KnownTopics, *, most: int = 100, like: Sequence[TopicRun] = ()) -> RegisterBody | str:
    """Read with what is known; it is the same as without."""
    found, plain = read(body, known, most=most, like=like), read(body, None, most=most)
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
def test_odd_bodies(name: str) -> None:
    for before in ([], [body_of(TABLE)], [ODD_BODIES[name]]):
        known = KnownTopics()
        for body in before:
            alike(body, known)
        alike(ODD_BODIES[name], known)
        alike(body_of(TABLE), known)


@pytest.mark.parametrize("name", ODD_BODIES)
@pytest.mark.parametrize("earlier", ["A", "AB", "ABC", "BC", "C", "ABCD"])
def test_odd_bodies_beside_an_earlier_table(short_runs: None, name: str, earlier: str) -> None:
    known = KnownTopics()
    like = runs(alike(body_of({one: topic(one) for one in earlier}), known))
    assert like
    alike(ODD_BODIES[name], known, like=like)


def test_of_a_table_like_an_earlier_one_only_what_differs_is_read(short_runs: None) -> None:
    table = {f"T{number}": topic(f"T{number}") for number in range(20)}
    like = runs(alike(body_of(table), KnownTopics()))
    assert topic_runs.topics_of(like) == tuple(
        TopicConfig(topic_name=name, read_queue_nums=8, write_queue_nums=8) for name in table
    )
    changes: dict[str, dict[str, Any]] = {
        "the same": table,
        "one changed": table | {"T9": topic("T9", writeQueueNums=12345)},
        "the first": table | {"T0": topic("T0", perm=4)},
        "the last": table | {"T19": topic("T19", perm=4)},
        "two": table | {"T5": topic("T5", perm=4), "T11": topic("T11", perm=4)},
        "one more at the end": table | {"new": topic("new")},
        "one more in front": {"new": topic("new")} | table,
        "one less": {name: one for name, one in table.items() if name != "T9"},
        "a run less": {name: one for name, one in table.items() if name not in {"T8", "T9", "T10", "T11"}},
        "the last one less": {name: one for name, one in table.items() if name != "T19"},
        "the first ones less": {name: one for name, one in table.items() if name not in {"T0", "T1", "T2", "T3"}},
        "another order": dict(reversed(table.items())),
        "two changed places": table | {"T9": topic("T10"), "T10": topic("T9")},
    }
    for what, changed in changes.items():
        found = alike(body_of(changed), KnownTopics(), like=like)
        if what == "two changed places":
            continue  # names that are not those of the topics: read as a whole
        assert isinstance(found, RegisterBody)
        assert found.news is not None
        assert topic_runs.topics_of(found.runs) == found.topics
        if what == "the same":
            assert (found.news, found.runs) == ((), like)
        if what not in {"another order", "two"}:
            assert len(found.news) <= 4, what
        again = alike(body_of(changed), KnownTopics(), like=found.runs)
        assert isinstance(again, RegisterBody)
        assert again.news == ()


def test_one_name_twice_is_found_beside_an_earlier_table(short_runs: None) -> None:
    table = {f"T{number}": topic(f"T{number}") for number in range(20)}
    like = runs(alike(body_of(table), KnownTopics()))
    for place in (0, 10, 19):
        body = body_of(table).replace(f'"T{place}"'.encode(), b'"T5"')
        found = alike(body, KnownTopics(), like=like)
        assert isinstance(found, RegisterBody)
        assert found.news is None


def test_runs_do_not_overlap(short_runs: None) -> None:
    known = KnownTopics()
    body = body_of({name: topic(name) for name in ("A", "B", "},")})
    like = runs(alike(body, known))
    assert len(like) == 3
    alike(body.replace(b'},"},":{', b'},":{'), known, like=like)


def runs(found: RegisterBody | str) -> tuple[TopicRun, ...]:
    assert isinstance(found, RegisterBody)
    return found.runs


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_runs, "_LENGTH", 1)


def test_topics_are_known_beside_many_mappings() -> None:
    details = {f"static-{number}": {"bname": "b", "totalQueues": 8} for number in range(500)}
    found = alike(body_of(TABLE, topicQueueMappingDetailMap={}, topicQueueMappingInfoMap=details), KnownTopics())
    assert isinstance(found, RegisterBody)
    assert found.news == found.topics


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
    like = runs(read(body, known, longest=20))
    found = read(body, known, longest=5, like=like)
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


@pytest.mark.parametrize("length", [1, 2, 256])
def test_whatever_is_known_bodies_are_read_alike(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(topic_runs, "_LENGTH", length)
    chance = random.Random(11)
    known = KnownTopics(most=500)
    earlier: list[tuple[TopicRun, ...]] = [()]
    quick = partly = 0
    last = _random_body(chance)
    for _ in range(6000):
        last = _random_body(chance) if chance.random() < 0.4 else last
        body = bytearray(last)
        for _ in range(chance.choice([0, 0, 1, 1, 3])):
            at = chance.randrange(len(body))
            piece = chance.choice([b"{", b"}", b'"', b",", b":", b'},"', b'":{', b"\\", b" ", b"A", b"\xc3", b"1", b""])
            body[at : at + chance.choice([0, 1, 1, 9])] = piece
        like = chance.choice([earlier[-1], chance.choice(earlier)])
        found = alike(bytes(body), known, like=like)
        if isinstance(found, RegisterBody) and found.news is not None:
            quick += 1
            partly += bool(_ids(found.runs) & _ids(like))
            earlier = [*earlier[-20:], found.runs]
    assert quick > 1000
    assert partly > 50


def _ids(runs: Iterable[TopicRun]) -> set[int]:
    return {id(run) for run in runs}


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

"""Each frame captured from the Java NameServer 5.5.0, replayed: the same answers, except for documented deviations."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.compare import free_of_order, parse_body
from tests.support.compatibility_page import documented_anchors
from tests.support.golden import Answer, Replay, Vector, load_vectors
from tests.support.java import java_nameserver
from tests.support.process import serving
from tests.support.remoting_frames import Reply, Request


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A vector that Routebook answers differently on purpose, and what it answers."""

    anchor: str  # of the entry in docs/compatibility.md
    expected: Callable[[Vector, Answer], bool]
    undo: Request | None = None  # so that later vectors find the state in which they were captured


def _registered(vector: Vector, answer: Answer) -> bool:
    return answer.reply.code == 0 and answer.reply.ext == {} and answer.reply.remark is None


def _without_ghost(vector: Vector, answer: Answer) -> bool:
    wanted: dict[str, Any] = parse_body(vector.expected.reply.body)
    del wanted["brokerAddrTable"]["ghost"]
    wanted["clusterAddrTable"]["DefaultCluster"].remove("ghost")
    return free_of_order(parse_body(answer.reply.body)) == free_of_order(wanted)


def _says_http(vector: Vector, answer: Answer) -> bool:
    return answer.closed and not answer.frames and answer.leftover.startswith(b"HTTP/1.1 400 ")


DEVIATIONS: Final = {
    "register-compressed-mislabelled": Deviation(
        anchor="mislabelled-compression",
        expected=_registered,
        undo=Request(
            code=104,
            ext={
                "brokerName": "broker-x",
                "brokerAddr": "127.0.0.1:10961",
                "clusterName": "DefaultCluster",
                "brokerId": "0",
            },
        ),
    ),
    "cluster-after-drop": Deviation(anchor="no-ghosts", expected=_without_ghost),
    "frame-http": Deviation(anchor="strangers", expected=_says_http),
}


class Captured:
    """A server that answers as captured, and remembers what else it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def answer(self, vector: Vector, *, wanted: Callable[[Answer], bool]) -> Answer:
        return vector.expected

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(b"", {"code": 0}, b"")


@pytest.fixture
def vectors() -> list[Vector]:
    return load_vectors()


def differences(replay: Replay | Captured, vectors: list[Vector], deviations: dict[str, Deviation]) -> Iterator[str]:
    """Replays all vectors; says what was answered otherwise than it should be."""
    for vector in vectors:
        deviation = deviations.get(vector.name)
        if deviation is None:
            answer = replay.answer(vector, wanted=vector.agrees)
            if not vector.agrees(answer):
                yield f"{vector.name} ({vector.about})\n  wanted {vector.expected}\n  got    {answer}"
            continue
        expected = deviation.expected
        answer = replay.answer(vector, wanted=partial(expected, vector))
        if vector.agrees(answer):
            yield f"{vector.name} no longer deviates: see DEVIATIONS and docs/compatibility.md#{deviation.anchor}"
        elif not expected(vector, answer):
            yield f"{vector.name} deviates, but not as documented\n  got    {answer}"
        if deviation.undo is not None:
            assert replay.ask(deviation.undo).code == 0


def test_all_vectors_are_present(vectors: list[Vector]) -> None:
    assert len(vectors) == 124
    assert len({vector.name for vector in vectors}) == 124
    assert DEVIATIONS.keys() <= {vector.name for vector in vectors}


@pytest.mark.java
def test_java_answers_as_captured(vectors: list[Vector], tmp_path: Path) -> None:
    with java_nameserver(tmp_path) as address, closing(Replay(address)) as replay:
        assert "\n".join(differences(replay, vectors, {})) == ""


def test_an_obsolete_deviation_is_reported(vectors: list[Vector]) -> None:
    server = Captured()
    reports = list(differences(server, vectors, DEVIATIONS))
    assert [report.split(":")[0] for report in reports] == [f"{name} no longer deviates" for name in DEVIATIONS]
    assert server.asked == [deviation.undo for deviation in DEVIATIONS.values() if deviation.undo]


def test_routebook_answers_as_captured_except_for_documented_deviations(vectors: list[Vector], tmp_path: Path) -> None:
    with serving(tmp_path / "home") as process, closing(Replay(process.address)) as replay:
        assert "\n".join(differences(replay, vectors, DEVIATIONS)) == ""


def test_deviations_are_documented() -> None:
    assert {deviation.anchor for deviation in DEVIATIONS.values()} <= documented_anchors()


def test_order_matters_only_where_java_has_one(vectors: list[Vector]) -> None:
    """The judge itself: a byte more, another order, another code are each seen or allowed as the vector says."""
    by_name = {vector.name: vector for vector in vectors}
    ordered, unordered, excepted = by_name["cluster-one"], by_name["topics-all"], by_name["register-no-id"]
    assert ordered.agrees(ordered.expected)
    assert not ordered.agrees(Answer(frames=(ordered.expected.frames[0] + b" ",)))
    assert not ordered.agrees(Answer(frames=ordered.expected.frames, closed=True))
    topics = parse_body(unordered.expected.reply.body)["topicList"]
    assert unordered.agrees(_with_topics(unordered, topics[::-1]))
    assert not unordered.agrees(_with_topics(unordered, topics[1:]))
    assert excepted.agrees(Answer(frames=(excepted.expected.frames[0].replace(b"NullPointer", b"OtherSorted"),)))
    assert not excepted.agrees(Answer(frames=(excepted.expected.frames[0].replace(b'"code":1,', b'"code":2,'),)))


def _with_topics(vector: Vector, topics: list[str]) -> Answer:
    reply = vector.expected.reply
    body = json.dumps({"topicList": topics}).encode()
    raw = reply.raw[4 : len(reply.raw) - len(reply.body)] + body
    return Answer(frames=(len(raw).to_bytes(4, "big") + raw,))

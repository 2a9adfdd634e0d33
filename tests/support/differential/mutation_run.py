"""Sends mutated frames to both servers in batches; compares the replies and what each frame changed."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from tests.support.compare import parse_body
from tests.support.differential.endpoint import PROBE, QUIET_S, Answer, Endpoint
from tests.support.differential.judge import same
from tests.support.differential.mutate import Mutated, Mutator
from tests.support.differential.steps import Ask, Raw
from tests.support.remoting_frames import Link, Reply, Request, Silence

BATCH: Final = 100
BROKER: Final = {"clusterName": "mc", "brokerName": "mb", "brokerAddr": "mb:1", "brokerId": "0"}
BROKER_BODY: Final = (
    b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1000},'
    b'"topicConfigTable":{"mt":{"topicName":"mt"},"mu":{"topicName":"mu"}}}}'
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The reply to a frame, and the replies to the requests that show its effect."""

    answer: Answer
    shown: tuple[tuple[Request, Answer], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A mutated frame that the servers treat differently; `anchor` is the heading that documents it, or empty."""

    frame: Mutated
    java: Outcome
    ours: Outcome
    anchor: str

    def __str__(self) -> str:
        lines = [f"{self.frame.kind} {self.frame.about!r}", f"  java {self.java.answer}", f"  ours {self.ours.answer}"]
        for (question, left), (_, right) in zip(self.java.shown, self.ours.shown, strict=True):
            if not _same(question, left, right):
                lines += [f"  then {question.code} {dict(question.ext or {})}", f"    java {left}", f"    ours {right}"]
        return "\n".join(lines)


class MutationRun:
    """Compares two servers."""

    def __init__(self, java: Endpoint, ours: Endpoint) -> None:
        self._both = (java, ours)
        self.documented: Counter[str] = Counter()

    def differences(self, mutator: Mutator, kind: str, frames: int) -> Iterator[Mutation]:
        """Undocumented differences in `frames` frames of a kind."""
        for begin in range(0, frames, BATCH):
            batch = [mutator.frame(kind) for _ in range(min(BATCH, frames - begin))]
            for suspect in tuple(self._compare(batch)):
                # alone, because the frames of a batch may affect each other: Java takes them in any order
                for endpoint in self._both:
                    endpoint.barrier()
                for found in self._compare([suspect.frame]):
                    if found.anchor:
                        self.documented[found.anchor] += 1
                    else:
                        yield found

    def _compare(self, batch: Sequence[Mutated]) -> Iterator[Mutation]:
        for endpoint in self._both:
            endpoint.ask(103, BROKER, BROKER_BODY)
            endpoint.ask(100, {"namespace": "mn", "key": "mk", "value": "mv"})
        with ExitStack() as held:  # brokers leave with their connection
            links = [held.enter_context(Link(endpoint.address)) for endpoint in self._both]
            yield from self._compare_over(links, batch)

    def _compare_over(self, links: Sequence[Link], batch: Sequence[Mutated]) -> Iterator[Mutation]:
        answers = [self._send(*pair, batch) for pair in zip(links, self._both, strict=True)]
        shown = self._shown(batch)
        for number, frame in enumerate(batch):
            java, ours = (
                Outcome(answer=replies[number], shown=shown[side][number]) for side, replies in enumerate(answers)
            )
            if not _equal(frame, java, ours):
                yield Mutation(frame=frame, java=java, ours=ours, anchor=_anchor(frame, java, ours))
        undo = [request for frame in batch for request in frame.undo]
        for endpoint in self._both:
            _ask_all(endpoint, undo)

    def _send(self, link: Link, endpoint: Endpoint, batch: Sequence[Mutated]) -> list[Answer]:
        data = [frame.data for frame in batch]
        if batch[0].closes:
            return over_own_connections(endpoint, data)
        return [Answer(replies=(reply,)) for reply in _pipelined(link, data)]

    def _shown(self, batch: Sequence[Mutated]) -> list[list[tuple[tuple[Request, Answer], ...]]]:
        """The effects of each frame, for both servers: its own questions, and the route of each topic it announced."""
        lists = [Request(code=224, ext={"cluster": frame.cluster}) for frame in batch]
        topics = [set[str]() for _ in batch]
        for endpoint in self._both if batch[0].cluster else ():
            for names, answer in zip(topics, _ask_all(endpoint, lists), strict=True):
                names |= set(_topics(answer))
        questions = [
            [*frame.shows, *(Request(code=105, ext={"topic": name}) for name in sorted(names))]
            for frame, names in zip(batch, topics, strict=True)
        ]
        found = []
        for endpoint in self._both:
            answers = iter(_ask_all(endpoint, [question for some in questions for question in some]))
            found.append([tuple((question, next(answers)) for question in some) for some in questions])
        return found


def _topics(answer: Answer) -> list[str]:
    body = parse_body(answer.replies[0].body) if answer.replies[0].body else {}
    return [name for name in body.get("topicList", ()) if isinstance(name, str)]


def _ask_all(endpoint: Endpoint, requests: Sequence[Request]) -> list[Answer]:
    found: list[Answer] = []
    with Link(endpoint.address) as link:
        for begin in range(0, len(requests), BATCH):
            part = [replace(request, opaque=n).encode() for n, request in enumerate(requests[begin : begin + BATCH])]
            found += [Answer(replies=(reply,)) for reply in _pipelined(link, part)]
    return found


def _pipelined(link: Link, data: Sequence[bytes]) -> list[Reply]:
    """The replies in the order of the requests, whose opaques ascend."""
    link.send(b"".join(data))
    replies = []
    for _ in data:
        raw = link.receive()
        assert raw is not None, "the connection was closed"
        replies.append(Reply.parse(raw))
    return sorted(replies, key=lambda reply: int(reply.header["opaque"]))


def over_own_connections(endpoint: Endpoint, data: Sequence[bytes]) -> list[Answer]:
    """Send each frame over a connection of its own."""
    links = [Link(endpoint.address) for _ in data]
    try:
        for link, one in zip(links, data, strict=True):
            link.send(one)
        return [_collect(link) for link in links]
    finally:
        for link in links:
            link.close()


def _collect(link: Link) -> Answer:
    try:
        raw = link.receive(timeout_s=QUIET_S)
    except Silence:
        link.send(PROBE.encode())
        raw = link.receive()
    if raw is None:
        return Answer(closed=True, leftover=link.leftover)
    reply = Reply.parse(raw)
    return Answer() if reply.header["opaque"] == PROBE.opaque else Answer(replies=(reply,))


# --- whether it is the same -------------------------------------------------------------------------------------------


def _equal(frame: Mutated, java: Outcome, ours: Outcome) -> bool:
    return _agree(frame, java, ours) and all(
        _same(question, left, right) for (question, left), (_, right) in zip(java.shown, ours.shown, strict=True)
    )


def _same(question: Request, left: Answer, right: Answer) -> bool:
    return same(
        Ask(conn="", code=question.code, ext=question.ext, opaque=left.replies[0].header["opaque"]), left, right
    )


REMARKS: Final = (
    (r"contains a control character|lone surrogate", "control-characters"),
    (r"characters; the limit is", "name-length"),
    (r"has no topicName|: the mapping of topic .* is null|: topic .* is null|has no topic$", "odd-json"),
    (r"nested deeper|without brokerName|too many digits", "odd-json"),
    (r"zlib stream", "damaged-compression"),
    (r"topic table|no topics", "no-ghosts"),
    (r"is missing", "required-names"),
)


def _anchor(frame: Mutated, java: Outcome, ours: Outcome) -> str:
    """The heading of docs/compatibility.md that predicts our reply from Java's, or nothing."""
    for rule in RULES:
        if anchor := rule(frame, java, ours):
            return anchor
    return ""


def _refused(frame: Mutated, java: Outcome, ours: Outcome) -> str:
    """Refused here with a documented reason, and nothing was changed."""
    if len(ours.answer.replies) != 1 or ours.answer.replies[0].code != 1 or _has_effect(ours):
        return ""
    remark = ours.answer.replies[0].remark or ""
    return next((anchor for pattern, anchor in REMARKS if re.search(pattern, remark)), "")


def _has_effect(outcome: Outcome) -> bool:
    return any(
        answer.replies[0].code == 0 and answer.replies[0].body not in (b"", b'{"topicList":[]}')
        for _, answer in outcome.shown
    )


def _mapping_without_broker(frame: Mutated, java: Outcome, ours: Outcome) -> str:
    """Java cannot encode the route of a topic whose mapping has no `bname`."""
    differ = [
        pair for pair in zip(java.shown, ours.shown, strict=True) if not _same(pair[0][0], pair[0][1], pair[1][1])
    ]
    failed = all("TreeMap.compare" in (left.replies[0].remark or "") for (_, left), _ in differ)
    return "static-mappings" if differ and failed and _agree(frame, java, ours) else ""


def _agree(frame: Mutated, java: Outcome, ours: Outcome) -> bool:
    return same(Raw(content=frame.data, about=frame.kind), java.answer, ours.answer)


RULES: Final[tuple[Callable[[Mutated, Outcome, Outcome], str], ...]] = (_refused, _mapping_without_broker)
ANCHORS: Final = frozenset({"static-mappings", *(anchor for _, anchor in REMARKS)})

"""Replays tests/golden/golden.jsonl, frames captured from the Java NameServer 5.5.0, and compares each reply."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.compare import settings_text, without_order
from tests.support.remoting_frames import Link, Reply, Request, Silence, split_frames

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "golden.jsonl"
LOCAL_KEYS: Final = {"listenPort", "bindAddress", "configStorePath", "kvConfigPath", "rocketmqHome"}
SETTLE_TIMEOUT_S: Final = 30.0
PROBE: Final = Request(code=9998, opaque=99_999_999)  # the reply has code 3 in any state


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A reply: frames, then possibly a close and incomplete bytes."""

    frames: tuple[bytes, ...]
    closed: bool = False
    leftover: bytes = b""

    @property
    def reply(self) -> Reply:
        (only,) = self.frames
        return Reply.parse(only)

    def __str__(self) -> str:
        parts = [repr(one[8:].decode(errors="backslashreplace")) for one in self.frames]
        parts += [f"bytes {self.leftover!r}"] if self.leftover else []
        parts += ["closed"] if self.closed else []
        return ", ".join(parts) or "nothing"


@dataclass(frozen=True, kw_only=True)
class Vector:
    """One line of golden.jsonl; its README.md describes the fields."""

    name: str
    about: str
    conn: str
    request: bytes
    expected: Answer
    unordered: bool
    exception: bool
    local: bool
    settle: bool
    close: bool

    def agrees(self, answer: Answer) -> bool:
        """Whether this reply equals the captured one, as strictly as the vector demands."""
        if (answer.closed, answer.leftover, len(answer.frames)) != (
            self.expected.closed,
            b"",
            len(self.expected.frames),
        ):
            return False
        if self.exception:
            return answer.reply.code == self.expected.reply.code and bool(answer.reply.remark)
        if self.local:
            return _local(answer.reply) == _local(self.expected.reply)
        if self.unordered:
            return _any_order(answer) == _any_order(self.expected)
        return answer.frames == self.expected.frames


def _any_order(answer: Answer) -> set[Any]:
    return {without_order(Reply.parse(one)) for one in answer.frames}


def _local(reply: Reply) -> tuple[Mapping[str, Any], dict[str, str]]:
    settings = settings_text(reply.body)
    assert settings.keys() >= LOCAL_KEYS
    return reply.header, {key: value for key, value in settings.items() if key not in LOCAL_KEYS}


def load_vectors() -> list[Vector]:
    """All vectors, in the order in which they must be sent."""
    vectors = []
    for line in GOLDEN.read_text().splitlines():
        raw = json.loads(line)
        expected = raw["response_hex"]
        frames = tuple(split_frames(bytes.fromhex(expected or "")))
        vectors.append(
            Vector(
                name=raw["name"],
                about=raw["about"],
                conn=raw["conn"],
                request=bytes.fromhex(raw["request_hex"]),
                expected=Answer(frames=frames, closed=expected is None),
                unordered=raw.get("unordered", False),
                exception=raw.get("exception", False),
                local=raw.get("local", False),
                settle=raw.get("settle", False),
                close=raw.get("close", False),
            )
        )
    return vectors


class Replay:
    """Sends vectors to one server, each over its named connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._links: dict[str, Link] = {}

    def answer(self, vector: Vector, *, wanted: Callable[[Answer], bool]) -> Answer:
        """The reply; a vector that needs time to settle is repeated until the reply is as wanted."""
        if vector.close:
            self._links.pop(vector.conn).close()
            return Answer(frames=())
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while True:
            answer = self._ask(vector)
            if not vector.settle or wanted(answer) or time.monotonic() > deadline:
                return answer

    def ask(self, request: Request) -> Reply:
        """Send another request over the main connection."""
        return self._link("main").ask(request)

    def _ask(self, vector: Vector) -> Answer:
        if vector.conn == "new":
            with Link(self._address) as link:
                return self._exchange(link, vector)
        return self._exchange(self._link(vector.conn), vector)

    def _exchange(self, link: Link, vector: Vector) -> Answer:
        link.send(vector.request)
        silent = not vector.expected.frames and not vector.expected.closed
        if silent:
            link.send(PROBE.encode())  # its answer shows that the vector's own never came
        frames: list[bytes] = []
        wanted = max(1, len(vector.expected.frames))
        try:
            while len(frames) < wanted:
                raw = link.receive()
                if raw is None:
                    return Answer(frames=tuple(frames), closed=True, leftover=link.leftover)
                if silent and Reply.parse(raw).header["opaque"] == PROBE.opaque:
                    break
                frames.append(raw)
        except Silence:
            pass
        return Answer(frames=tuple(frames), leftover=link.leftover)

    def _link(self, name: str) -> Link:
        if name not in self._links:
            self._links[name] = Link(self._address)
        return self._links[name]

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()

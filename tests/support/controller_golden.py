"""Lines of tests/golden/controller.jsonl: frames captured from the Java 5.5.0 controller, in sessions."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from routebook.wire.codec import decode
from routebook.wire.command import Command

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "controller.jsonl"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One step of a session: a request with its answer, the close of a connection, or notifications that arrived."""

    name: str
    conn: str | None
    request: bytes | None
    response: bytes | None
    close: bool
    is_exception: bool
    is_local: bool
    settle: bool
    notify: str | None
    frames: tuple[bytes, ...]

    @property
    def command(self) -> Command:
        assert self.request is not None
        return decoded(self.request)


def decoded(frame: bytes) -> Command:
    """A whole frame, length word included."""
    return decode(frame[4:], itertools.count(1))


def session(name: str) -> Iterator[Line]:
    """The lines of one session, in order."""
    with GOLDEN.open(encoding="utf-8") as lines:
        for text in lines:
            row: dict[str, Any] = json.loads(text)
            if row["session"] != name:
                continue
            yield Line(
                name=row["name"],
                conn=row.get("conn"),
                request=bytes.fromhex(row["request_hex"]) if "request_hex" in row else None,
                response=bytes.fromhex(row["response_hex"]) if row.get("response_hex") else None,
                close=row.get("close", False),
                is_exception=row.get("exception", False),
                is_local=row.get("local", False),
                settle=row.get("settle", False),
                notify=row.get("notify"),
                frames=tuple(bytes.fromhex(frame) for frame in row.get("frames_hex", ())),
            )

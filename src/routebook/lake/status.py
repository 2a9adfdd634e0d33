"""How the process that follows is: `status.json` in the lake's folder, written by it and read by the NameServer."""

import contextlib
import os
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "status.json"


class State(StrEnum):
    """What it does."""

    STARTING = "starting"
    BUILDING = "building"
    FOLLOWING = "following"  # all there was is in the tables; it waits for more
    FAILED = "failed"
    STOPPED = "stopped"


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What it told last. `says` is a line for people: what it does, or what is wrong and what to do."""

    state: State
    at_ms: int
    says: str = ""
    pid: int | None = None
    build_id: str | None = None
    events: int | None = None
    behind_segments: int | None = None
    behind_rows: int | None = None
    restarts: int | None = None


def write_status(lake: str | Path, status: Status) -> None:
    """In one piece, so that nobody reads half of it. A folder that cannot be written is not worth ending for."""
    path = Path(lake) / NAME
    half = path.with_suffix(f".{os.getpid()}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(msgspec.json.encode(status) + b"\n")
        half.replace(path)


def read_status(lake: str | Path) -> Status | None:
    """None where nobody ever followed, or what stands there cannot be read."""
    try:
        return msgspec.json.decode((Path(lake) / NAME).read_bytes(), type=Status)
    except (OSError, msgspec.DecodeError):
        return None

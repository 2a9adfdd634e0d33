"""State of the `lake follow` process: `status.json` in the lake's folder, which the NameServer reads."""

import contextlib
import os
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "status.json"


class State(StrEnum):
    """State of the process."""

    STARTING = "starting"
    BUILDING = "building"
    FOLLOWING = "following"  # up to date; waiting for new events
    FAILED = "failed"
    STOPPED = "stopped"


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The last reported status. `says` is a line for people: the current activity, or the error and its remedy."""

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
    """Replace the file atomically. A write error is ignored: the status is not essential."""
    path = Path(lake) / NAME
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(status) + b"\n")
        temporary.replace(path)


def read_status(lake: str | Path) -> Status | None:
    """None if there is no valid status file."""
    try:
        return msgspec.json.decode((Path(lake) / NAME).read_bytes(), type=Status)
    except (OSError, msgspec.DecodeError):
        return None

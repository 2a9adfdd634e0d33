"""What the NameServer knows of the lake that follows it: what that process wrote down, as a part of health.

The two share nothing but this file: a lake that fails is told of here and touches nothing else.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from routebook.lake.status import State, Status, read_status
from routebook.server.observe.health import Condition, Fact, Part, Probe


def following(lake: Path) -> Status | None:
    """What the process that follows told last, as stopped if it is gone; None where nobody ever followed."""
    status = read_status(lake)
    if status is None or status.state in {State.STOPPED, State.FAILED} or _lives(status.pid):
        return status
    return replace(status, state=State.STOPPED, says="the process that followed is gone")


def lake_probe(lake: Path) -> Probe:
    """The part `lake`; well where nobody follows, for nobody need."""

    def part() -> Part:
        status = following(lake)
        if status is None:
            return Part(facts={"state": "none"})
        facts: dict[str, Fact] = {
            "state": status.state,
            "at_ms": status.at_ms,
            "build": status.build_id,
            "events": status.events,
            "behind_segments": status.behind_segments,
            "behind_rows": status.behind_rows,
            "restarts": status.restarts,
        }
        if status.state is State.FAILED:
            says = f"the lake does not follow: {status.says}; routes and the journal are not touched by it"
            return Part(Condition.DEGRADED, says, facts)
        return Part(says=status.says, facts=facts)

    return part


def _lives(pid: int | None) -> bool:
    if pid is None:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True

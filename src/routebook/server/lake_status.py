"""What the NameServer knows of the lake that follows it: what that process wrote down, as a part of health.

The two share nothing but this file: a lake that fails is told of here and touches nothing else.
"""

import os
from pathlib import Path

from routebook.lake.status import State, read_status
from routebook.server.health import Condition, Fact, Part, Probe


def lake_probe(lake: Path) -> Probe:
    """The part `lake`; well where nobody follows, for nobody need."""

    def part() -> Part:
        status = read_status(lake)
        if status is None:
            return Part(facts={"state": "none"})
        gone = status.state not in {State.STOPPED, State.FAILED} and not _lives(status.pid)
        state = State.STOPPED if gone else status.state
        facts: dict[str, Fact] = {
            "state": state,
            "at_ms": status.at_ms,
            "build": status.build_id,
            "events": status.events,
            "behind_segments": status.behind_segments,
            "behind_rows": status.behind_rows,
            "restarts": status.restarts,
        }
        if state == State.FAILED:
            says = f"the lake does not follow: {status.says}; routes and the journal are not touched by it"
            return Part(Condition.DEGRADED, says, facts)
        return Part(says="the process that followed is gone" if gone else status.says, facts=facts)

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

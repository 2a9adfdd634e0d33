"""Lake status: the health component `lake`, read from the status file that the lake process writes."""

import os
from pathlib import Path

from msgspec.structs import replace

from routebook.lake.status import State, Status, read_status
from routebook.server.observe.health import Condition, Fact, Part, Probe


def following(lake: Path) -> Status | None:
    """The last status of the lake process, STOPPED if the process is gone; None if there never was one."""
    status = read_status(lake)
    if status is None or status.state in {State.STOPPED, State.FAILED} or _is_alive(status.pid):
        return status
    return replace(status, state=State.STOPPED, says="the lake process has ended")


def lake_probe(lake: Path) -> Probe:
    """The health component `lake`; OK without a lake process, which is optional."""

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
            says = f"the lake is not updated: {status.says}; routes and journal are not affected"
            return Part(Condition.DEGRADED, says, facts)
        return Part(says=status.says, facts=facts)

    return part


def _is_alive(pid: int | None) -> bool:
    if pid is None:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # owned by another user
        return True
    return True

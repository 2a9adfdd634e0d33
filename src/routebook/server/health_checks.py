"""What the memory of a server tells about its health: journal, snapshots, recovered brokers, preservation."""

from routebook.handlers import NameServer
from routebook.server.net.connection import Shared
from routebook.server.observe.health import Condition, Fact, Health, Part, of_journal
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshots import Snapshots
from routebook.server.state.warm_start import RecoveredState


def add_probes(
    health: Health, *, memory: RecoveredState, recorder: Recorder, snapshots: Snapshots, ns: NameServer
) -> None:
    """Every part that can be asked."""
    health.add("journal", lambda: _journal(memory, recorder))
    health.add("snapshot", lambda: _snapshot(snapshots))
    health.add("recovery", lambda: _recovery(memory, ns))


def _journal(memory: RecoveredState, recorder: Recorder) -> Part:
    part = of_journal(memory.journal.status())
    facts: dict[str, Fact] = {**part.facts, "unkept_admin_writes": recorder.unkept}
    return Part(part.condition, part.says, facts)


def _snapshot(snapshots: Snapshots) -> Part:
    facts: dict[str, Fact] = {
        "seq": snapshots.seq,
        "at_ms": snapshots.at_ms,
        "bytes": snapshots.bytes,
        "taken": snapshots.taken,
    }
    if snapshots.problem is None:
        return Part(facts=facts)
    says = f"no snapshot can be written to {snapshots.problem}; a restart reads more of the journal meanwhile"
    return Part(Condition.DEGRADED, says, facts)


def _recovery(memory: RecoveredState, ns: NameServer) -> Part:
    """Never bad: it tells whom the server still waits for."""
    awaited = sum(
        any(seat.connection is None for seat in lease.seats.values()) for lease in ns.routes.lease_table.values()
    )
    says = f"{awaited} brokers known from before have not registered yet" if awaited else ""
    facts: dict[str, Fact] = {
        "cold": memory.cold,
        "recovered": memory.recovered,
        "awaited": awaited,
        "replayed": memory.replayed,
        "wrong": len(memory.wrong),
    }
    return Part(says=says, facts=facts)


def limits_part(shared: Shared) -> Part:
    """How much of what is limited is in use; degraded while look-ups are turned away."""
    facts: dict[str, Fact] = {
        "connections": shared.limits.connections,
        "addresses": len(shared.limits.hosts),
        "buffer_bytes": shared.buffers.held,
        "busy": shared.gate.busy,
    }
    if not shared.gate.busy:
        return Part(facts=facts)
    says = "too much to do: look-ups are answered SYSTEM_BUSY, brokers are served; routebook.limits.busyMillis decides"
    return Part(Condition.DEGRADED, says, facts)


def preservation_part(ns: NameServer) -> Part:
    """Whether routes of silent brokers are kept."""
    preservation = ns.preservation
    facts: dict[str, Fact] = {
        "active": preservation.since_ms is not None,
        "silent": len(preservation.silent),
        "since_ms": preservation.since_ms,
    }
    if preservation.since_ms is None:
        return Part(facts=facts)
    says = f"routes of {len(preservation.silent)} silent brokers are kept: is this NameServer cut off from its network?"
    return Part(Condition.DEGRADED, says, facts)

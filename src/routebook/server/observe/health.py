"""How the server is: every part tells, and somebody sums it up. Whether it is ready is another question.

Health says what is wrong (a part is degraded or failed); readiness says whether to send clients here. A server whose
disk is full is degraded and ready; one that is draining is well and not ready.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from routebook.handlers import NameServer
from routebook.journal.write.writer import JournalStatus

Fact: TypeAlias = float | str | bool | None  # a whole number is a float here


class Condition(StrEnum):
    """From good to bad."""

    OK = "ok"
    DEGRADED = "degraded"  # it serves, and something an operator should know about does not work
    FAILED = "failed"  # this part does not work


SEVERITY: Final = {condition: number for number, condition in enumerate(Condition)}


class Part(msgspec.Struct, frozen=True):
    """How one part is. `says` is for people: what is wrong, and what to do. Numbers among `facts` become metrics."""

    condition: Condition = Condition.OK
    says: str = ""
    facts: dict[str, Fact] = {}


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """The worst condition of all parts, and each of them; and what readiness waits for, if anything."""

    condition: Condition
    ready: bool
    waiting_for: dict[str, str]
    parts: dict[str, Part]


Probe: TypeAlias = Callable[[], Part]
Gate: TypeAlias = Callable[[], str | None]


class Health:
    """Parts are asked when somebody wants to know; asking must be cheap."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}
        self._gates: dict[str, Gate] = {}
        self._held: dict[str, str] = {}

    def add(self, name: str, probe: Probe) -> None:
        """A part of this name, in the place of an earlier one; lower case and underscores, for metrics carry it."""
        self._probes[name] = probe

    def add_gate(self, name: str, gate: Gate) -> None:
        """Not ready while `gate` gives a reason."""
        self._gates[name] = gate

    def hold(self, name: str, why: str) -> None:
        """Not ready until `release`."""
        self._held[name] = why

    def release(self, name: str) -> None:
        self._held.pop(name, None)

    def waiting_for(self) -> dict[str, str]:
        """Why it is not ready; empty if it is."""
        reasons = dict(self._held)
        for name, gate in self._gates.items():
            why = gate()
            if why is not None:
                reasons[name] = why
        return reasons

    def report(self) -> HealthReport:
        parts = {name: probe() for name, probe in self._probes.items()}
        waiting_for = self.waiting_for()
        return HealthReport(
            condition=max((part.condition for part in parts.values()), key=SEVERITY.__getitem__, default=Condition.OK),
            ready=not waiting_for,
            waiting_for=waiting_for,
            parts=parts,
        )


def service_gate(ns: NameServer, now_ms: Callable[[], int]) -> Gate:
    """Java: needWaitForService. Routes are not answered in the first seconds."""

    def why() -> str | None:
        settings = ns.settings
        left_ms = ns.started_ms + settings.wait_seconds_for_service * 1000 - now_ms()
        if settings.need_wait_for_service and left_ms > 0:
            return f"needWaitForService: routes are answered in {-(-left_ms // 1000)} s"
        return None

    return why


def of_journal(status: JournalStatus) -> Part:
    """What the journal's writer tells, as a part: a disk that does not take it degrades the server, no more."""
    facts: dict[str, Fact] = {"state": status.state, "last_seq": status.last_seq, "durable_seq": status.durable_seq}
    if status.state == "degraded":
        says = f"the journal is not being written: {status.reason}; {status.dropped_records} records dropped so far"
        return Part(Condition.DEGRADED, says, facts)
    if status.upkeep_problem is not None:
        return Part(Condition.DEGRADED, f"old segments are not rolled or removed: {status.upkeep_problem}", facts)
    return Part(facts=facts)

"""Health: collects a status from each component and reports the worst. Readiness is separate.

Health reports problems (a component is degraded or failed); readiness is whether clients should be sent here.
A server whose disk is full is degraded and ready; one that is draining is healthy and not ready.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from routebook.handlers import NameServer
from routebook.handlers.totals import usage

Fact: TypeAlias = float | str | bool | None  # int is a float here


class Condition(StrEnum):
    """From good to bad."""

    OK = "ok"
    DEGRADED = "degraded"  # the server serves, but needs an operator's attention
    FAILED = "failed"  # the component does not work


_CLOSE_SHARE: Final = 0.9
SEVERITY: Final = {condition: number for number, condition in enumerate(Condition)}


class Part(msgspec.Struct, frozen=True):
    """The status of one component. `says` describes the problem and its remedy; numeric `facts` become metrics."""

    condition: Condition = Condition.OK
    says: str = ""
    facts: dict[str, Fact] = {}


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """The worst condition, all components, and what readiness waits for."""

    condition: Condition
    ready: bool
    waiting_for: dict[str, str]
    parts: dict[str, Part]


_DAY_MS: Final = 86_400_000
_EXPIRES_SOON_DAYS: Final = 7
Probe: TypeAlias = Callable[[], Part]
Gate: TypeAlias = Callable[[], str | None]


class Health:
    """Runs the probes of all components at each report; a probe must be cheap."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}
        self._gates: dict[str, Gate] = {}
        self._held: dict[str, str] = {}

    def add(self, name: str, probe: Probe) -> None:
        """Add or replace a component; the name is a metric label: lower case and underscores."""
        self._probes[name] = probe

    def add_gate(self, name: str, gate: Gate) -> None:
        """Not ready while `gate` returns a reason."""
        self._gates[name] = gate

    def hold(self, name: str, why: str) -> None:
        """Not ready until `release`."""
        self._held[name] = why

    def release(self, name: str) -> None:
        self._held.pop(name, None)

    def waiting_for(self) -> dict[str, str]:
        """The reasons why the server is not ready; empty if it is ready."""
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
    """Java: needWaitForService rejects route look-ups in the first seconds."""

    def why() -> str | None:
        settings = ns.settings
        left_ms = ns.started_ms + settings.wait_seconds_for_service * 1000 - now_ms()
        if settings.need_wait_for_service and left_ms > 0:
            return f"needWaitForService: routes are answered in {-(-left_ms // 1000)} s"
        return None

    return why


def protection_health(ns: NameServer) -> Part:
    """The health component `preservation`: degraded while routes of silent brokers are kept (expiry protection)."""
    preservation = ns.expiry_protection
    facts: dict[str, Fact] = {
        "active": preservation.since_ms is not None,
        "silent": len(preservation.silent),
        "since_ms": preservation.since_ms,
    }
    if preservation.since_ms is None:
        return Part(facts=facts)
    says = f"routes of {len(preservation.silent)} silent brokers are kept: check the network of this NameServer"
    return Part(Condition.DEGRADED, says, facts)


def tls_health(problem: str | None, expires_ms: int | None, now_ms: int) -> Part:
    """The health component `tls`: degraded if changed files cannot be used, or the certificate expires soon."""
    left_ms = None if expires_ms is None else expires_ms - now_ms
    facts: dict[str, Fact] = {
        "reload_failed": problem is not None,
        "expires_at_ms": expires_ms,
        "expires_in_days": None if left_ms is None else round(left_ms / _DAY_MS, 2),
    }
    if problem is not None:
        says = f"the changed TLS files cannot be used: {problem}; new connections use the previous files"
    elif left_ms is not None and left_ms <= 0:
        says = "the certificate has expired: clients that check it cannot connect; renew routebook.tls.certPath"
    elif left_ms is not None and left_ms < _EXPIRES_SOON_DAYS * _DAY_MS:
        says = f"the certificate expires in {left_ms / _DAY_MS:.1f} days: renew routebook.tls.certPath"
    else:
        return Part(facts=facts)
    return Part(Condition.DEGRADED, says, facts)


def totals_health(ns: NameServer) -> Part:
    """The health component `totals`: degraded while the tables are close to a limit."""
    facts: dict[str, Fact] = {}
    close = []
    for name, (count, limit) in usage(ns).items():
        facts[name], facts[f"{name}_limit"] = count, limit
        if limit and count > limit * _CLOSE_SHARE:
            close.append(f"{count} of {limit} {name}")
    if not close:
        return Part(facts=facts)
    says = f"close to a limit, beyond which registrations and KV entries are rejected: {', '.join(close)}"
    return Part(Condition.DEGRADED, f"{says}; see routebook.limits in docs/settings.md", facts)

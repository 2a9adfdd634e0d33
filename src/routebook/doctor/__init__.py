"""Diagnoses a set of NameServers and their brokers from observations. Pure: the command line collects them."""

from collections.abc import Iterable

import msgspec

from routebook.doctor.checks import CHECKS
from routebook.doctor.observation import Finding, Observation, ObservedBroker, ObservedNameServer, Severity

__all__ = ["Finding", "Observation", "ObservedBroker", "ObservedNameServer", "Severity", "findings"]


def findings(observed: Observation) -> list[Finding]:
    """All findings, the most severe first."""
    found = [finding for check in CHECKS for finding in check(observed)]
    order = list(Severity)
    return sorted(_combined(found), key=lambda finding: order.index(finding.severity))


def _combined(found: Iterable[Finding]) -> list[Finding]:
    """One finding for all of the same severity, check and advice, with their number."""
    groups: dict[tuple[Severity, str, str], list[Finding]] = {}
    for one in found:
        groups.setdefault((one.severity, one.check, one.advice), []).append(one)
    return [
        msgspec.structs.replace(some[0], count=len(some), others=[one.text for one in some[1:]])
        for some in groups.values()
    ]

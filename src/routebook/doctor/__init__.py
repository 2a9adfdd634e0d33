"""Diagnoses a set of NameServers and their brokers from observations. Pure: the command line collects them."""

from routebook.doctor.checks import CHECKS
from routebook.doctor.observation import Finding, Observation, ObservedBroker, ObservedNameServer, Severity

__all__ = ["Finding", "Observation", "ObservedBroker", "ObservedNameServer", "Severity", "findings"]


def findings(observed: Observation) -> list[Finding]:
    """All findings, the most severe first."""
    found = [finding for check in CHECKS for finding in check(observed)]
    order = list(Severity)
    return sorted(found, key=lambda finding: order.index(finding.severity))

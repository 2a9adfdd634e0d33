"""Diagnoses a set of NameServers and their brokers from observations. Pure: the command line collects them."""

from collections.abc import Callable, Iterable
from typing import Final

from routebook.doctor import brokers, nameservers, topics
from routebook.doctor.observation import Finding, Observation, ObservedBroker, ObservedNameServer, Severity

__all__ = ["Finding", "Observation", "ObservedBroker", "ObservedNameServer", "Severity", "findings"]

_CHECKS: Final[tuple[Callable[[Observation], Iterable[Finding]], ...]] = (
    nameservers.answering,
    nameservers.agreement,
    brokers.masters,
    brokers.addresses,
    brokers.names,
    topics.permissions,
    topics.placement,
    topics.orders,
    brokers.clocks,
    nameservers.versions,
    nameservers.tls,
)


def findings(observed: Observation) -> list[Finding]:
    """All findings, the most severe first."""
    found = [finding for check in _CHECKS for finding in check(observed)]
    order = list(Severity)
    return sorted(found, key=lambda finding: order.index(finding.severity))

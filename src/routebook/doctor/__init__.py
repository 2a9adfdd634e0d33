"""What is wrong with a set of NameServers and the brokers they name, from what was seen of them; pure."""

from collections.abc import Callable, Iterable
from typing import Final

from routebook.doctor import brokers, nameservers, topics
from routebook.doctor.seen import BrokerSeen, Finding, NameServerSeen, Seen, Severity

__all__ = ["BrokerSeen", "Finding", "NameServerSeen", "Seen", "Severity", "findings"]

_CHECKS: Final[tuple[Callable[[Seen], Iterable[Finding]], ...]] = (
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


def findings(seen: Seen) -> list[Finding]:
    """All that there is to say, the worst first."""
    found = [finding for check in _CHECKS for finding in check(seen)]
    order = list(Severity)
    return sorted(found, key=lambda finding: order.index(finding.severity))

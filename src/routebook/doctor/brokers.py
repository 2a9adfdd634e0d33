"""Checks of the brokers: masters, addresses, names, clocks."""

from collections.abc import Iterable
from typing import Final

from routebook.codes import MASTER_ID
from routebook.doctor.seen import Finding, Seen, error, is_local, listed, warning
from routebook.doctor.seen import groups as groups_of

_SKEW_MS: Final = 10_000


def masters(seen: Seen) -> Iterable[Finding]:
    for name, data in groups_of(seen).items():
        if MASTER_ID not in data.broker_addrs:
            yield error(
                "master",
                f"broker {name} of cluster {data.cluster} has no master: nobody can publish to it",
                "Bring its master back, or let a slave take over (controller, or enableSlaveActingMaster).",
            )


def addresses(seen: Seen) -> Iterable[Finding]:
    users: dict[str, list[str]] = {}
    for name, data in groups_of(seen).items():
        for number, addr in sorted(data.broker_addrs.items()):
            users.setdefault(addr, []).append(f"{name} id {number}")
    remote = any(not server.local for server in seen.nameservers)
    for addr, members in users.items():
        who = " and ".join(members)
        if len(members) > 1:
            yield error(
                "address",
                f"{addr} is advertised by {who}",
                "Give each broker an address of its own (brokerIP1, listenPort).",
            )
        met = seen.addresses.get(addr)
        if met is not None and met.why_not is not None:
            yield error(
                "reachable",
                f"broker {who} at {addr} {met.why_not}",
                "If it runs: clients elsewhere may have the same trouble; look at brokerIP1 and at firewalls.",
            )
        elif met is not None and met.silent is not None:
            yield warning(
                "reachable",
                f"broker {who} at {addr} takes connections but {met.silent}",
                "It may hang, or something else listens on its port: look at its log and at its load.",
            )
        if remote and is_local(addr):
            yield error(
                "address",
                f"broker {who} advertises {addr}, where only its own machine finds it",
                "Set brokerIP1 to an address that clients can reach.",
            )


def names(seen: Seen) -> Iterable[Finding]:
    clusters: dict[str, set[str]] = {}
    for view in seen.views:
        for cluster, names in view.info.cluster_addr_table.items():
            for name in names:
                clusters.setdefault(name, set()).add(cluster)
    for name, of in sorted(clusters.items()):
        if len(of) > 1:
            yield error(
                "names",
                f"broker name {name} is used in clusters {listed(sorted(of))}: their members are mixed up",
                "Broker names must differ over all clusters of a NameServer: rename one of them.",
            )


def clocks(seen: Seen) -> Iterable[Finding]:
    for addr, met in sorted(seen.addresses.items()):
        if met.boot_ms is not None and met.boot_ms > seen.now_ms + _SKEW_MS:
            ahead_s = (met.boot_ms - seen.now_ms) // 1000
            yield warning(
                "clock",
                f"the clock of {addr} is ahead of the one here by {ahead_s} s or more: it says it started then",
                "Set both by NTP: message times, delays and retention depend on it.",
            )

"""Checks of the brokers: masters, addresses, names, clocks."""

from collections.abc import Iterable
from typing import Final

from routebook.codes import MASTER_ID
from routebook.doctor.observation import Finding, Observation, error, is_local, listed, warning
from routebook.doctor.observation import groups as groups_of

_SKEW_MS: Final = 10_000


def masters(observed: Observation) -> Iterable[Finding]:
    for name, data in groups_of(observed).items():
        if MASTER_ID not in data.broker_addrs:
            yield error(
                "master",
                f"broker {name} of cluster {data.cluster} has no master: clients cannot publish to it",
                "Restart its master, or let a slave take over (Controller, or enableSlaveActingMaster).",
            )


def addresses(observed: Observation) -> Iterable[Finding]:
    users: dict[str, list[str]] = {}
    for name, data in groups_of(observed).items():
        for number, addr in sorted(data.broker_addrs.items()):
            users.setdefault(addr, []).append(f"{name} id {number}")
    remote = any(not server.local for server in observed.nameservers)
    for addr, members in users.items():
        who = " and ".join(members)
        if len(members) > 1:
            yield error(
                "address",
                f"{addr} is advertised by {who}",
                "Give each broker a unique address (brokerIP1, listenPort).",
            )
        found = observed.addresses.get(addr)
        if found is not None and found.failure is not None:
            yield error(
                "reachable",
                f"broker {who} at {addr} {found.failure}",
                "If it runs, other clients may have the same problem: check brokerIP1 and firewalls.",
            )
        elif found is not None and found.unresponsive is not None:
            yield warning(
                "reachable",
                f"broker {who} at {addr} accepts connections but {found.unresponsive}",
                "It may hang, or another program listens on its port: check its log and its load.",
            )
        if remote and is_local(addr):
            yield error(
                "address",
                f"broker {who} advertises {addr}, which only its own machine can reach",
                "Set brokerIP1 to an address that clients can reach.",
            )


def names(observed: Observation) -> Iterable[Finding]:
    clusters: dict[str, set[str]] = {}
    for view in observed.views:
        for cluster, names in view.info.cluster_addr_table.items():
            for name in names:
                clusters.setdefault(name, set()).add(cluster)
    for name, of in sorted(clusters.items()):
        if len(of) > 1:
            yield error(
                "names",
                f"broker name {name} is used in clusters {listed(sorted(of))}: their members are mixed",
                "Broker names must be unique in all clusters of a NameServer: rename one of them.",
            )


def clocks(observed: Observation) -> Iterable[Finding]:
    for addr, found in sorted(observed.addresses.items()):
        if found.boot_ms is not None and found.boot_ms > observed.now_ms + _SKEW_MS:
            ahead_s = (found.boot_ms - observed.now_ms) // 1000
            yield warning(
                "clock",
                f"the clock of {addr} is {ahead_s} s or more ahead of the local clock: it started in the future",
                "Synchronise both with NTP: message times, delays and retention depend on it.",
            )

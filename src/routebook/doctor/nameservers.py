"""Checks of the NameServers: availability, agreement, versions, TLS."""

from collections.abc import Iterable, Mapping
from typing import Final

from routebook.codes import version_text
from routebook.doctor.observation import Finding, Observation, counted, error, listed, note, warning

_DAY_MS: Final = 86_400_000
_EXPIRES_SOON_DAYS: Final = 14


def answering(observed: Observation) -> Iterable[Finding]:
    for server in observed.nameservers:
        if server.failure is not None:
            yield error(
                "nameserver",
                f"NameServer {server.failure}",
                "Start it, or remove it from the configuration of all brokers and clients, which lose time on it.",
            )
    if len(observed.nameservers) == 1:
        yield note(
            "nameserver",
            f"{observed.nameservers[0].who} is the only NameServer that was given",
            "If there are more, name all of them (-n HOST:PORT;HOST:PORT). If not, run a second one.",
        )
    if observed.views and not any(view.info.broker_addr_table for view in observed.views):
        yield warning(
            "nameserver",
            "no broker is registered",
            "Check namesrvAddr of the brokers, and whether they can reach the port of the NameServer.",
        )


def agreement(observed: Observation) -> Iterable[Finding]:
    where = " ".join(view.who for view in observed.views)
    for text in observed.disagreements:
        yield warning(
            "agreement",
            text,
            f"routebook diff {where} shows which one is likely stale.",
        )


def versions(observed: Observation) -> Iterable[Finding]:
    servers = _by_version({server.who: server.version for server in observed.nameservers})
    brokers = _by_version({addr: found.version for addr, found in observed.addresses.items()})
    for what, versions in (("NameServers", servers), ("brokers", brokers)):
        if len(versions) > 1:
            shown = "; ".join(f"{version}: {listed(sorted(who))}" for version, who in sorted(versions.items()))
            yield warning(
                "version",
                f"{what} run different versions: {shown}",
                "This is expected during a rolling upgrade; complete it.",
            )


def tls(observed: Observation) -> Iterable[Finding]:
    for server in observed.nameservers:
        if server.tls is False and not server.local:
            yield note(
                "tls",
                f"{server.who} does not use TLS: routes can be read and changed in transit",
                "Set tls.server.mode=permissive there, then -Dtls.enable=true at brokers and clients.",
            )
        if server.certificate_until_ms is None:
            continue
        days = (server.certificate_until_ms - observed.now_ms) // _DAY_MS
        if days < _EXPIRES_SOON_DAYS:
            yield warning(
                "tls",
                f"the certificate of {server.who} " + ("expired" if days < 0 else f"expires in {counted(days, 'day')}"),
                "Replace it; clients that verify it will refuse to connect.",
            )


def _by_version(versions: Mapping[str, int | None]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for who, version in versions.items():
        if version is not None:
            found.setdefault(version_text(version), []).append(who)
    return found

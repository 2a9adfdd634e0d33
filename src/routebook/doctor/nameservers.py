"""Checks of the NameServers themselves: that they answer, agree, are of one version, and speak TLS."""

from collections.abc import Iterable, Mapping
from typing import Final

from routebook.codes import version_text
from routebook.doctor.seen import Finding, Seen, counted, error, listed, note, warning

_DAY_MS: Final = 86_400_000
_EXPIRES_SOON_DAYS: Final = 14


def answering(seen: Seen) -> Iterable[Finding]:
    for server in seen.nameservers:
        if server.why_not is not None:
            yield error(
                "nameserver",
                f"NameServer {server.why_not}",
                "Start it, or take it out of the list of all brokers and clients: they lose time on it.",
            )
    if len(seen.nameservers) == 1:
        yield note(
            "nameserver",
            f"{seen.nameservers[0].who} is the only NameServer that was named",
            "If there are more, name them all (-n HOST:PORT;HOST:PORT). If not, run a second one.",
        )
    if seen.views and not any(view.info.broker_addr_table for view in seen.views):
        yield warning(
            "nameserver",
            "no broker is registered",
            "Look at namesrvAddr of the brokers, and whether they reach the NameServer's port.",
        )


def agreement(seen: Seen) -> Iterable[Finding]:
    where = " ".join(view.who for view in seen.views)
    for text in seen.disagreements:
        yield warning(
            "agreement",
            text,
            f"routebook diff {where} says who is likely stale.",
        )


def versions(seen: Seen) -> Iterable[Finding]:
    servers = _by_version({server.who: server.version for server in seen.nameservers})
    brokers = _by_version({addr: met.version for addr, met in seen.addresses.items()})
    for what, versions in (("NameServers", servers), ("brokers", brokers)):
        if len(versions) > 1:
            shown = "; ".join(f"{version}: {listed(sorted(who))}" for version, who in sorted(versions.items()))
            yield warning(
                "version",
                f"{what} run different versions: {shown}",
                "Fine while they are being replaced one by one; finish that.",
            )


def tls(seen: Seen) -> Iterable[Finding]:
    for server in seen.nameservers:
        if server.tls is False and not server.local:
            yield note(
                "tls",
                f"{server.who} does not speak TLS: whoever is on the way can read and change routes",
                "Set tls.server.mode=permissive there, then -Dtls.enable=true at brokers and clients.",
            )
        if server.certificate_until_ms is None:
            continue
        days = (server.certificate_until_ms - seen.now_ms) // _DAY_MS
        if days < _EXPIRES_SOON_DAYS:
            yield warning(
                "tls",
                f"the certificate of {server.who} " + ("expired" if days < 0 else f"expires in {counted(days, 'day')}"),
                "Put a new one in its place; clients that verify will turn away.",
            )


def _by_version(versions: Mapping[str, int | None]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for who, version in versions.items():
        if version is not None:
            found.setdefault(version_text(version), []).append(who)
    return found

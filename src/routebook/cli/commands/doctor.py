"""`routebook doctor`: checks NameServers and their brokers, and prints findings with advice."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from routebook.cli.commands.diff import describe
from routebook.cli.concurrency import ProgressBar, gather
from routebook.cli.controller_probe import configured_controllers, probe_controllers
from routebook.cli.framework import command, option
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import (
    EXIT_NO,
    EXIT_OK,
    EXIT_UNREACHABLE,
    Colour,
    json_option,
    print_error,
    print_json,
    print_line,
)
from routebook.cli.probe import probe_broker, probe_nameserver
from routebook.cli.survey import survey
from routebook.client.addresses import Address, parse_addresses
from routebook.client.queues import check_order
from routebook.disagreements import View, disagreements
from routebook.doctor import Finding, Observation, Severity, findings
from routebook.errors import MalformedRoute

_PROBES_AT_ONCE: Final = 64
_MAX_OTHERS: Final = 2  # texts of similar findings that are printed
_COLOURS: Final = {Severity.ERROR: Colour.RED, Severity.WARNING: Colour.YELLOW, Severity.NOTE: Colour.CYAN}


@command("doctor")
@json_option
@option(
    "--controller",
    metavar="HOST:PORT;…",
    help="Controllers to check [those in the settings of the NameServers].",
)
@nameserver_options
def doctor(*, as_json: bool, controller: str | None, servers: NameServerOptions) -> int:
    """Check NameServers, their Controllers and every broker they list; print each problem with advice.

    Connects to every advertised broker address. The exit code is 1 if there is an error or a warning, 3 if no
    NameServer responds.
    """
    controllers = () if controller is None else parse_addresses(controller)
    observed = asyncio.run(_examine(servers, controllers))
    if not observed.views:
        for server in observed.nameservers:
            print_error(server.failure or f"{server.who} does not respond")
        return EXIT_UNREACHABLE
    found = findings(observed)
    if as_json:
        print_json({"healthy": _is_healthy(found), "findings": found, "looked_at": _counts(observed)})
    else:
        _print(observed, found)
    return EXIT_OK if _is_healthy(found) else EXIT_NO


async def _examine(servers: NameServerOptions, controllers: Sequence[Address]) -> Observation:
    addresses, timeout_s, tls = servers.addresses(), servers.timeout_s, servers.tls_context()
    with ProgressBar("checking") as progress:
        met = await asyncio.gather(*(probe_nameserver(address, timeout_s=timeout_s, tls=tls) for address in addresses))
        answering = [address for address, server in zip(addresses, met, strict=True) if server.failure is None]
        surveyed = await survey(answering, servers, progress=progress)
        advertised = {
            addr
            for view in surveyed.views
            for data in view.info.broker_addr_table.values()
            for addr in data.broker_addrs.values()
        }
        brokers = await gather(
            sorted(advertised),
            lambda addr: probe_broker(addr, timeout_s=timeout_s, tls=tls),
            progress=progress,
            concurrency=_PROBES_AT_ONCE,
        )
        names = sorted({name for view in surveyed.views for name in view.info.broker_addr_table})
        nodes, sets = await probe_controllers(
            controllers or configured_controllers(surveyed.views), names, servers.client_of
        )
    return Observation(
        nameservers=[*met],
        views=surveyed.views,
        addresses=brokers,
        now_ms=time.time_ns() // 1_000_000,
        disagreements=[describe(one) for one in disagreements(surveyed.views)],
        unusable_orders=_unusable_orders(surveyed.views),
        controllers=nodes,
        broker_sets=sets,
    )


def _unusable_orders(views: list[View]) -> dict[str, str]:
    found: dict[str, str] = {}
    for view in views:
        for topic, conf in (item for table in view.kv.values() for item in table.items()):
            try:
                check_order(topic, conf)
            except MalformedRoute as error:
                found.setdefault(topic, str(error))
    return found


def _is_healthy(found: list[Finding]) -> bool:
    return all(finding.severity is Severity.NOTE for finding in found)


def _counts(observed: Observation) -> dict[str, int]:
    return {
        "nameservers": len(observed.nameservers),
        "brokers": len(observed.addresses),
        "topics": len({topic for view in observed.views for topic in view.routes}),
        **({"controllers": len(observed.controllers)} if observed.controllers else {}),
    }


def _print(observed: Observation, found: list[Finding]) -> None:
    for finding in found:
        print_line(f"{finding.severity}: {finding.text}", colour=_COLOURS[finding.severity], of=len(finding.severity))
        if finding.others:
            shown = finding.others[:_MAX_OTHERS]
            rest = len(finding.others) - len(shown)
            more = f"; and {rest} more (--json lists them)" if rest else ""
            print_line(f"{len(finding.others)} more of this kind: {'; '.join(shown)}{more}", indent=4)
        print_line(finding.advice, indent=4)
    counts = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity in Severity
        if (count := sum(finding.count for finding in found if finding.severity is severity))
    ]
    checked = ", ".join(f"{count} {what[:-1] if count == 1 else what}" for what, count in _counts(observed).items())
    print_line(f"{', '.join(counts) or 'no problems'}; checked {checked.replace('nameserver', 'NameServer')}")

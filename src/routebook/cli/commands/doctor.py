"""`routebook doctor`: what is wrong, how bad it is, and what to do about it."""

import asyncio
import time
from typing import Final

from routebook.cli.commands.diff import describe
from routebook.cli.concurrency import Waiting, gather
from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, EXIT_NO, EXIT_UNREACHABLE, Colour, Json, complain, print_json, say
from routebook.cli.probe import meet_broker, meet_nameserver
from routebook.cli.survey import look
from routebook.client.queues import publish_queues
from routebook.disagreements import View, disagreements
from routebook.doctor import Finding, Seen, Severity, findings
from routebook.errors import MalformedRoute
from routebook.model import TopicRoute

_AT_ONCE: Final = 64
_COLOURS: Final = {Severity.ERROR: Colour.RED, Severity.WARNING: Colour.YELLOW, Severity.NOTE: Colour.CYAN}


def doctor(*, servers: NameServers, as_json: Json = False) -> int:
    """Look at NameServers and at every broker they name: what is wrong, and what to do about it.

    Every advertised broker address is connected to. Exit code 1 where there is an error or a warning, 3 where no
    NameServer answers.
    """
    seen = run(_examine(servers))
    if not seen.views:
        for server in seen.nameservers:
            complain(server.why_not or f"{server.who} does not answer")
        return EXIT_UNREACHABLE
    found = findings(seen)
    if as_json:
        print_json({"healthy": _healthy(found), "findings": found, "looked_at": _looked_at(seen)})
    else:
        _print(seen, found)
    return EXIT_FINE if _healthy(found) else EXIT_NO


async def _examine(servers: NameServers) -> Seen:
    addresses, timeout_s, tls = servers.addresses(), servers.timeout_s, servers.tls_context()
    with Waiting("examining") as waiting:
        met = await asyncio.gather(*(meet_nameserver(address, timeout_s=timeout_s, tls=tls) for address in addresses))
        answering = [address for address, server in zip(addresses, met, strict=True) if server.why_not is None]
        looked = await look(answering, servers, waiting=waiting)
        advertised = {
            addr
            for view in looked.views
            for data in view.info.broker_addr_table.values()
            for addr in data.broker_addrs.values()
        }
        brokers = await gather(
            sorted(advertised),
            lambda addr: meet_broker(addr, timeout_s=timeout_s, tls=tls),
            waiting=waiting,
            at_once=_AT_ONCE,
        )
    return Seen(
        nameservers=[*met],
        views=looked.views,
        addresses=brokers,
        now_ms=time.time_ns() // 1_000_000,
        disagreements=[describe(one) for one in disagreements(looked.views)],
        unusable_orders=_unusable_orders(looked.views),
    )


def _unusable_orders(views: list[View]) -> dict[str, str]:
    found: dict[str, str] = {}
    for view in views:
        for topic, conf in (item for table in view.kv.values() for item in table.items()):
            route = TopicRoute(broker_datas=[], filter_server_table={}, order_topic_conf=conf, queue_datas=[])
            try:
                publish_queues(topic, route)
            except MalformedRoute as error:
                found.setdefault(topic, str(error))
    return found


def _healthy(found: list[Finding]) -> bool:
    return all(finding.severity is Severity.NOTE for finding in found)


def _looked_at(seen: Seen) -> dict[str, int]:
    return {
        "nameservers": len(seen.nameservers),
        "brokers": len(seen.addresses),
        "topics": len({topic for view in seen.views for topic in view.routes}),
    }


def _print(seen: Seen, found: list[Finding]) -> None:
    for finding in found:
        say(f"{finding.severity}: {finding.text}", colour=_COLOURS[finding.severity], of=len(finding.severity))
        say(finding.advice, indent=4)
    counts = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity in Severity
        if (count := sum(finding.severity is severity for finding in found))
    ]
    looked = ", ".join(f"{count} {what[:-1] if count == 1 else what}" for what, count in _looked_at(seen).items())
    say(f"{', '.join(counts) or 'nothing to report'}; looked at {looked.replace('nameserver', 'NameServer')}")

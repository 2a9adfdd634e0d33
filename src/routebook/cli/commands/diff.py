"""`routebook diff NS NS…`: differences between NameServers, and which one is likely stale."""

import asyncio
from typing import Final

from routebook.cli.concurrency import ProgressBar, gather
from routebook.cli.framework import argument, command, flag, option
from routebook.cli.nameservers import ConnectionOptions, connection_options
from routebook.cli.output import (
    EXIT_NO,
    EXIT_OK,
    EXIT_UNREACHABLE,
    error_text,
    json_option,
    print_error,
    print_json,
    print_line,
)
from routebook.cli.permissions import permission_text
from routebook.cli.survey import Survey, survey
from routebook.client.addresses import Address, parse_address, parse_addresses
from routebook.client.dial import open_link
from routebook.disagreements import Disagreement, Kind, View, disagreements
from routebook.errors import ConnectionFailed, UsageError

_MAX_TOPICS: Final = 20
_PROBE_S: Final = 1.0
_PROBES_AT_ONCE: Final = 64


@command("diff")
@argument("nameservers", metavar="NS NS...", nargs=-1, required=True, help="HOST:PORT of two or more NameServers.")
@option("--namespace", "namespaces", metavar="NAME", multiple=True, help="Also compare this KV namespace; repeatable.")
@flag("--full", "is_full", help="List all topics of a difference.")
@json_option
@connection_options
def diff(
    *,
    nameservers: tuple[str, ...],
    namespaces: tuple[str, ...],
    is_full: bool,
    as_json: bool,
    connection: ConnectionOptions,
) -> int:
    """Compare NameServers: brokers, topics, queues, permissions, KV and settings; name the one that is likely stale.

    If one NameServer lacks a broker, the command connects to the broker. If the broker accepts the connection, the
    NameServer without it is likely stale. The exit code is 1 if there is a difference.
    """
    addresses = parse_addresses(nameservers)
    if len(addresses) < 2:
        raise UsageError("diff needs two or more addresses")
    seen, found = asyncio.run(_compare(addresses, connection, namespaces))
    if as_json:
        print_json(_document(seen, found))
    elif len(seen.views) > 1:
        _print(seen, found, is_full=is_full)
    for error in seen.failures.values():
        print_error(error_text(error))
    if seen.failures:
        return EXIT_UNREACHABLE
    return EXIT_NO if found else EXIT_OK


async def _compare(
    addresses: tuple[Address, ...], connection: ConnectionOptions, namespaces: tuple[str, ...]
) -> tuple[Survey, list[Disagreement]]:
    with ProgressBar("routes") as progress:
        seen = await survey(addresses, connection, namespaces=namespaces, progress=progress)
    found = disagreements(seen.views)
    undecided = [one.subject for one in found if one.kind is Kind.BROKER and not one.stale]
    if undecided:
        reachable = await _reachable(seen.views, undecided, min(_PROBE_S, connection.timeout_s))
        found = disagreements(seen.views, reachable=reachable.get)
    return seen, found


async def _reachable(views: list[View], brokers: list[str], timeout_s: float) -> dict[str, bool]:
    addrs = {
        name: {
            addr
            for view in views
            if name in view.info.broker_addr_table
            for addr in view.info.broker_addr_table[name].broker_addrs.values()
        }
        for name in brokers
    }

    async def accepts(addr: str) -> bool:
        try:
            link = await open_link(parse_address(addr), connect_timeout_s=timeout_s)
        except (ConnectionFailed, UsageError):
            return False
        await link.aclose()
        return True

    every = {addr for some in addrs.values() for addr in some}
    with ProgressBar("brokers") as progress:
        accepted = await gather(every, accepts, progress=progress, concurrency=_PROBES_AT_ONCE)
    return {name: any(accepted[addr] for addr in some) for name, some in addrs.items()}


def _document(seen: Survey, found: list[Disagreement]) -> dict[str, object]:
    return {
        "nameservers": [view.who for view in seen.views],
        "agree": not found and not seen.failures,
        "differences": found,
        "compared": _compared(seen.views),
        "notes": seen.notes,
        "failures": {who: error_text(error) for who, error in seen.failures.items()},
    }


def _compared(views: list[View]) -> dict[str, int]:
    return {
        "brokers": len({name for view in views for name in view.info.broker_addr_table}),
        "topics": len({topic for view in views for topic in view.routes}),
        "kv": len({(space, key) for view in views for space, table in view.kv.items() for key in table}),
    }


def _print(seen: Survey, found: list[Disagreement], *, is_full: bool) -> None:
    for one in found:
        only = "only " if len(found) == 1 else ""
        print_line(f"{only}{describe(one)}")
        for line in _details(one, is_full=is_full):
            print_line(line, indent=4)
    for note in seen.notes:
        print_line(f"not compared: {note}")
    counts = ", ".join(f"{count} {name}" for name, count in _compared(seen.views).items() if count)
    if not found:
        print_line(f"{len(seen.views)} NameServers agree: {counts or 'all are empty'}")


def describe(one: Disagreement) -> str:
    """Return one disagreement as a sentence."""
    count = len(one.topics)
    topics = f"{count} topic{'' if count == 1 else 's'}"
    missing = ", ".join(one.missing_at)
    match one.kind:
        case Kind.BROKER:
            return f"broker {one.subject} and its {topics} are missing at {missing}"
        case Kind.TOPIC:
            return f"{topics} of broker {one.subject} {'is' if count == 1 else 'are'} missing at {missing}"
        case Kind.MEMBER if missing:
            return f"member {one.subject} is missing at {missing}"
        case Kind.QUEUES:
            return f"{topics} of broker {one.subject}: queues differ: {_values(one)}"
        case Kind.PERMISSION:
            return f"{topics} of broker {one.subject}: permissions differ: {_values(one)}"
    what = {Kind.ORDER: "order of", Kind.GROUP: "broker", Kind.KV: "KV"}.get(one.kind, str(one.kind))
    return f"{what} {one.subject} differs: {_values(one)}"


def _values(one: Disagreement) -> str:
    shown = {
        who: permission_text(int(value)) if one.kind is Kind.PERMISSION and value is not None else value
        for who, value in one.values.items()
    }
    return ", ".join(f"{'none' if value is None else value} at {who}" for who, value in shown.items())


def _details(one: Disagreement, *, is_full: bool) -> list[str]:
    lines = []
    if one.kind is Kind.BROKER:
        here = dict.fromkeys(value for value in one.values.values() if value is not None)
        lines.append(f"addresses: {', '.join(here)}")
    if one.topics:
        shown = one.topics if is_full else one.topics[:_MAX_TOPICS]
        more = f" and {len(one.topics) - len(shown)} more (--full lists them)" if len(shown) < len(one.topics) else ""
        lines.append(f"topics: {', '.join(shown)}{more}")
    if one.stale:
        lines.append(f"likely stale: {', '.join(one.stale)} ({one.because})")
    return lines

"""`routebook diff NS NS…`: what NameServers disagree about, and who is likely stale."""

from typing import Annotated, Final

from routebook.cli.concurrency import Waiting
from routebook.cli.nameservers import Connecting, run
from routebook.cli.output import EXIT_FINE, EXIT_NO, EXIT_UNREACHABLE, Json, complain, explain, print_json, say
from routebook.cli.parameters import Argument, Option
from routebook.cli.permissions import permission_text
from routebook.cli.survey import Look, look, takes_connections
from routebook.client.addresses import Address, parse_addresses
from routebook.disagreements import Disagreement, Kind, View, disagreements
from routebook.errors import UsageError

_SHOWN: Final = 20
_PROBE_S: Final = 1.0


def diff(
    nameservers: Annotated[list[str], Argument("NS NS...", "HOST:PORT of two or more NameServers.")],
    *,
    connecting: Connecting,
    namespace: Annotated[
        list[str] | None,
        Option(("--namespace",), "Also compare this KV namespace; may be given several times.", "NAME"),
    ] = None,
    full: Annotated[bool, Option(("--full",), "Name all topics, also where there are many.")] = False,
    as_json: Json = False,
) -> int:
    """What NameServers disagree about: brokers, topics, queues, permissions, KV and settings, and who is likely stale.

    Exit code 1 where they disagree. Where two stand against each other, the broker in question is tried: if it takes
    connections, the one that lacks it is likely stale.
    """
    addresses = parse_addresses(nameservers)
    if len(addresses) < 2:
        raise UsageError("diff compares NameServers: give two addresses or more")
    seen, found = run(_compare(addresses, connecting, namespace or []))
    if as_json:
        print_json(_document(seen, found))
    elif len(seen.views) > 1:
        _print(seen, found, full=full)
    for error in seen.failures.values():
        complain(explain(error))
    if seen.failures:
        return EXIT_UNREACHABLE
    return EXIT_NO if found else EXIT_FINE


async def _compare(
    addresses: tuple[Address, ...], connecting: Connecting, namespaces: list[str]
) -> tuple[Look, list[Disagreement]]:
    with Waiting("routes") as waiting:
        seen = await look(addresses, connecting, namespaces=namespaces, waiting=waiting)
    found = disagreements(seen.views)
    undecided = [one.subject for one in found if one.kind is Kind.BROKER and not one.stale]
    if undecided:
        reachable = await _reachable(seen.views, undecided, min(_PROBE_S, connecting.timeout_s))
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
    why_not = await takes_connections({addr for some in addrs.values() for addr in some}, timeout_s=timeout_s)
    return {name: any(why_not[addr] is None for addr in some) for name, some in addrs.items()}


def _document(seen: Look, found: list[Disagreement]) -> dict[str, object]:
    return {
        "nameservers": [view.who for view in seen.views],
        "agree": not found and not seen.failures,
        "differences": found,
        "compared": _compared(seen.views),
        "notes": seen.notes,
        "failures": {who: explain(error) for who, error in seen.failures.items()},
    }


def _compared(views: list[View]) -> dict[str, int]:
    return {
        "brokers": len({name for view in views for name in view.info.broker_addr_table}),
        "topics": len({topic for view in views for topic in view.routes}),
        "kv": len({(space, key) for view in views for space, table in view.kv.items() for key in table}),
    }


def _print(seen: Look, found: list[Disagreement], *, full: bool) -> None:
    for one in found:
        only = "only " if len(found) == 1 else ""
        say(f"{only}{describe(one)}")
        for line in _details(one, full=full):
            say(line, indent=4)
    for note in seen.notes:
        say(f"not compared: {note}")
    counts = ", ".join(f"{count} {name}" for name, count in _compared(seen.views).items() if count)
    if not found:
        say(f"{len(seen.views)} NameServers agree: {counts or 'all of them are empty'}")


def describe(one: Disagreement) -> str:
    """One disagreement in a sentence."""
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


def _details(one: Disagreement, *, full: bool) -> list[str]:
    lines = []
    if one.kind is Kind.BROKER:
        here = dict.fromkeys(value for value in one.values.values() if value is not None)
        lines.append(f"addresses: {', '.join(here)}")
    if one.topics:
        shown = one.topics if full else one.topics[:_SHOWN]
        more = f" and {len(one.topics) - len(shown)} more (--full names them)" if len(shown) < len(one.topics) else ""
        lines.append(f"topics: {', '.join(shown)}{more}")
    if one.stale:
        lines.append(f"likely stale: {', '.join(one.stale)} ({one.because})")
    return lines

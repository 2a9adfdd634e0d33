"""`routebook history TOPIC`: what a route was at a time, or when it changed and why; from a server or from its home."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Final, TypeVar

from routebook.cli.http_client import Http, open_http
from routebook.cli.output import EXIT_FINE, EXIT_NO, Json, complain, print_json, print_table, say
from routebook.cli.parameters import Argument, Option
from routebook.cli.permissions import permission_text
from routebook.cli.times import format_time_or, parse_time
from routebook.client.http import path_segment
from routebook.errors import UsageError
from routebook.history.query.answers import Cause, Certainty, RouteTimeline, RouteVersion
from routebook.history.query.history import History
from routebook.server.http.views.answers import PastOfRoute, Route, RouteAnswer
from routebook.times import format_time

T = TypeVar("T")

_STILL: Final = "now"
_LONG_AGO: Final = "before what is kept"


def history(
    topic: Annotated[str, Argument("TOPIC", "The topic's name.")],
    *,
    at: Annotated[str | None, Option(("--at",), "Its route at this time: ISO 8601 (UTC), or ms.", "TIME")] = None,
    since: Annotated[str | None, Option(("--since",), "Only what held after this time.", "TIME")] = None,
    limit: Annotated[int, Option(("--limit",), "How many versions at most [20].", "N")] = 20,
    home: Annotated[
        str | None, Option(("--home",), "A server's home, also of one that is stopped [ROUTEBOOK_HOME].", "DIR")
    ] = None,
    http: Http = None,
    as_json: Json = False,
) -> int:
    """When a topic's route changed and why, or with --at what it was. Exit code 1 where nothing is known of it.

    It asks the server at --http, or reads the home folder, whether or not a server runs there.
    """
    if home is not None and http is not None:
        raise UsageError("--home and --http: give one of them")
    if not 1 <= limit <= 1000:
        raise UsageError(f"--limit {limit}: give a number from 1 to 1000")
    since_ms = None if since is None else parse_time(since, "--since")
    if at is not None:
        if since is not None:
            raise UsageError("--at and --since: give one of them")
        return _show_route(_route_at(topic, parse_time(at, "--at"), home, http), as_json=as_json)
    return _show_timeline(_timeline(topic, limit, home, http), since_ms, as_json=as_json)


# -- asking ----------------------------------------------------------------------------------------------------------


def _route_at(topic: str, at_ms: int, home: str | None, http: str | None) -> RouteAnswer:
    if http is not None:
        return open_http(http).get(f"/v1/routes/{path_segment(topic)}", RouteAnswer, {"at": at_ms})
    from routebook.server.http.views.tables import past_route

    return _from_home(home, lambda past: past_route(past.route_at(topic, at_ms)))


def _timeline(topic: str, limit: int, home: str | None, http: str | None) -> RouteTimeline:
    if http is not None:
        return open_http(http).get(f"/v1/routes/{path_segment(topic)}/history", RouteTimeline, {"limit": limit})
    return _from_home(home, lambda past: past.timeline(topic, limit=limit))


def _from_home(home: str | None, ask: Callable[[History], T]) -> T:
    import os

    from routebook.history.query.offline import open_offline
    from routebook.server.state.home import default_home

    path = default_home(os.environ) if home is None else Path(home).expanduser()
    with open_offline(path) as past:
        return ask(past)


# -- showing ---------------------------------------------------------------------------------------------------------


def _show_route(answer: RouteAnswer, *, as_json: bool) -> int:
    past = answer.past
    known = past is None or past.certainty.known
    if as_json:
        print_json(answer)
    elif not known:
        complain(_unknown(answer.at_ms, past))
    elif answer.route is None:
        say(f"{answer.topic} had no route at {format_time(answer.at_ms)}")
    else:
        _print_route(answer.route)
    if past is not None and known and not as_json:
        _print_past(answer, past)
    return EXIT_FINE if answer.route is not None else EXIT_NO


def _print_route(route: Route) -> None:
    queues = {one.broker: one for one in route.queues}
    rows = [
        [
            one.name,
            one.cluster,
            permission_text(queues[one.name].perm),
            queues[one.name].read_queues,
            queues[one.name].write_queues,
            " ".join(f"{number}={addr}" for number, addr in one.addrs.items()),
        ]
        for one in route.brokers
        if one.name in queues
    ]
    print_table(["BROKER", "CLUSTER", "PERM", "READ", "WRITE", "ADDRESSES"], rows)


def _print_past(answer: RouteAnswer, past: PastOfRoute) -> None:
    began = format_time_or(past.valid_from_ms, _LONG_AGO)
    say(f"so from {began} to {format_time_or(past.valid_to_ms, _STILL)}")
    if past.cause is not None:
        say(f"because of {_cause(past.cause)}, record {past.cause.seq}")
    _print_doubts(past.certainty, answer.at_ms)


def _show_timeline(timeline: RouteTimeline, since_ms: int | None, *, as_json: bool) -> int:
    import msgspec

    versions = [
        version
        for version in timeline.versions
        if since_ms is None or version.valid_to_ms is None or version.valid_to_ms > since_ms
    ]
    if as_json:
        print_json(msgspec.structs.replace(timeline, versions=versions))
    elif versions:
        print_table(["FROM", "TO", "BROKERS", "READ", "WRITE", "CHANGE", "CAUSE"], map(_row, versions))
        if timeline.more and len(versions) == len(timeline.versions):
            say("there are older versions: --limit shows more")
        _print_doubts(timeline.certainty, None)
    else:
        complain(f"{timeline.topic}: nothing is known of such a topic{'' if since_ms is None else ' since then'}")
    return EXIT_FINE if versions else EXIT_NO


def _row(version: RouteVersion) -> list[object]:
    return [
        format_time(version.valid_from_ms),
        format_time_or(version.valid_to_ms, _STILL),
        len(version.brokers),
        version.read_queues,
        version.write_queues,
        _few(f"{step.broker} {step.change}" for step in version.steps),
        _cause(version.cause),
    ]


def _few(texts: Iterable[str]) -> str:
    shown = list(texts)
    more = f", and {len(shown) - 3} more" if len(shown) > 3 else ""
    return "; ".join(shown[:3]) + more


def _cause(cause: Cause) -> str:
    why = f" ({cause.why})" if cause.why else ""
    by = f" by {cause.who or cause.peer}" if cause.who or cause.peer else ""
    return f"{cause.kind.replace('_', ' ')}{why}{by}"


def _print_doubts(certainty: Certainty, at_ms: int | None) -> None:
    extent = certainty.extent
    if at_ms is not None and not certainty.observed:
        if extent is not None and at_ms > extent.to_ms:
            complain(f"nothing is recorded after {format_time(extent.to_ms)}: this is what was known last")
        else:
            complain("the NameServer was down at that time: this is what it knew last")
    for lost in certainty.missing[:3]:
        complain(f"events may be missing: records {lost.first_seq} to {lost.last_seq}, {lost.why}")
    if certainty.events_may_be_missing and not certainty.missing:
        complain("events may be missing: the journal's beginning was gone when its index was made")


def _unknown(at_ms: int, past: PastOfRoute | None) -> str:
    extent = None if past is None else past.certainty.extent
    kept = "nothing is recorded" if extent is None else f"the first record is of {format_time(extent.from_ms)}"
    return f"nothing is known of {format_time(at_ms)}: {kept}"

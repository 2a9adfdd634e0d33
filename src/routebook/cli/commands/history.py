"""`routebook history TOPIC`: past routes of a topic with times and causes, from a server or its home folder."""

from collections.abc import Iterable
from typing import Final

from routebook.cli.framework import command, option, topic_argument
from routebook.cli.http import http_option, open_http
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line, print_table
from routebook.cli.past import cause_text, check_source, print_gaps, read_home, running_server, unknown_text
from routebook.cli.permissions import permission_text
from routebook.cli.times import format_time_or, parse_time
from routebook.client.http import path_segment
from routebook.errors import UsageError
from routebook.history.query.answers import RouteTimeline, RouteVersion
from routebook.server.http.views.answers import PastOfRoute, Route, RouteAnswer
from routebook.times import format_time

_NOW: Final = "now"
_MAX_CHANGES: Final = 3  # shown of one version


@command("history")
@topic_argument(help="Name of the topic.")
@option("--at", metavar="TIME", help="Show the route at this time: 03:12, '10m ago', ISO 8601 (UTC).")
@option("--since", metavar="TIME", help="Only versions that were valid after this time.")
@option("--limit", type=int, default=20, metavar="N", help="Maximum number of versions [20].")
@option("--home", metavar="DIR", help="Home folder of a server, running or stopped [ROUTEBOOK_HOME].")
@http_option
@json_option
def history(
    *,
    topic: str,
    at: str | None,
    since: str | None,
    limit: int,
    home: str | None,
    http: str | None,
    as_json: bool,
) -> int:
    """Show when and why a topic's route changed, or with --at the route at a time.

    Asks the server at --http, or reads the home folder --home. Without either it asks the server on this machine, if
    one runs, else it reads the default home. The exit code is 1 if nothing is recorded about the topic.
    """
    check_source(home, http, limit)
    http = running_server(home, http)
    since_ms = None if since is None else parse_time(since, "--since")
    if at is not None:
        if since is not None:
            raise UsageError("--at and --since cannot be combined")
        return _show_route(_route_at(topic, parse_time(at, "--at"), home, http), as_json=as_json)
    return _show_timeline(_timeline(topic, limit, home, http), since_ms, as_json=as_json)


def _route_at(topic: str, at_ms: int, home: str | None, http: str | None) -> RouteAnswer:
    if http is not None:
        return open_http(http).get(f"/v1/routes/{path_segment(topic)}", RouteAnswer, {"at": at_ms})
    from routebook.server.http.views.tables import past_route

    return read_home(home, lambda past: past_route(past.route_at(topic, at_ms)))


def _timeline(topic: str, limit: int, home: str | None, http: str | None) -> RouteTimeline:
    if http is not None:
        path = f"/v1/routes/{path_segment(topic)}/history"
        return open_http(http).get(path, RouteTimeline, {"limit": limit})
    return read_home(home, lambda past: past.timeline(topic, limit=limit))


def _show_route(answer: RouteAnswer, *, as_json: bool) -> int:
    past = answer.past
    known = past is None or past.certainty.known
    if as_json:
        print_json(answer)
    elif not known:
        print_error(unknown_text(answer.at_ms, None if past is None else past.certainty))
    elif answer.route is None:
        print_line(f"{answer.topic} had no route at {format_time(answer.at_ms)}")
    else:
        _print_route(answer.route)
    if past is not None and known and not as_json:
        _print_past(answer, past)
    return EXIT_OK if answer.route is not None else EXIT_NO


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
    began = format_time_or(past.valid_from_ms, "before the first record")
    state = "valid" if answer.route is not None else "no route"
    print_line(f"{state} from {began} to {format_time_or(past.valid_to_ms, _NOW)}")
    if past.cause is not None:
        print_line(f"cause: {cause_text(past.cause)}, record {past.cause.seq}")
    print_gaps(past.certainty, answer.at_ms)


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
            print_line("older versions exist; use --limit to show more")
        print_gaps(timeline.certainty, None)
    else:
        print_error(f"{timeline.topic}: nothing is recorded{'' if since_ms is None else ' since then'}")
    return EXIT_OK if versions else EXIT_NO


def _row(version: RouteVersion) -> list[object]:
    return [
        format_time(version.valid_from_ms),
        format_time_or(version.valid_to_ms, _NOW),
        len(version.brokers),
        version.read_queues,
        version.write_queues,
        _few(f"{step.broker} {step.change}" for step in version.steps),
        cause_text(version.cause),
    ]


def _few(texts: Iterable[str]) -> str:
    shown = list(texts)
    more = f", and {len(shown) - _MAX_CHANGES} more" if len(shown) > _MAX_CHANGES else ""
    return "; ".join(shown[:_MAX_CHANGES]) + more

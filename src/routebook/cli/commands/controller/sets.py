"""`routebook controller sets [BROKER]`: who is or was master, since when, and why."""

import time
from typing import Final

from routebook.cli.framework import argument, command, option
from routebook.cli.http import http_option, open_http
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line, print_table
from routebook.cli.past import cause_text, check_source, print_gaps, read_home, unknown_text
from routebook.cli.times import format_time_or, parse_time
from routebook.client.http import path_segment
from routebook.controller.overview import SetView
from routebook.history.query.answers import Certainty
from routebook.history.query.controller_sets import Election, PastSet, PastSetAnswer, PastSets
from routebook.server.http.api.controller import SetAnswer, SetsAnswer

_HEADINGS: Final = ("SET", "CLUSTER", "MASTER", "ADDRESS", "EPOCH", "IN SYNC", "OUT OF SYNC")


@command("sets")
@argument("broker", required=False, help="Name of one set.")
@option("--at", metavar="TIME", help="At this time: 03:12, yesterday 03:12, ISO 8601 (UTC), or ms since the epoch.")
@option("--home", metavar="DIR", help="Home folder of a server, running or stopped [ROUTEBOOK_HOME].")
@http_option
@json_option
def sets(*, broker: str | None, at: str | None, home: str | None, http: str | None, as_json: bool) -> int:
    """Show the broker sets of a Controller: master, epoch and in-sync replicas, now or at a past time.

    Asks the server at --http, or reads the journal of a home folder, whether or not a server is running. With the name
    of a set it also shows since when its master is master, and why. The exit code is 1 if there is none.
    """
    check_source(home, http, 1)
    at_ms = None if at is None else parse_time(at, "--at")
    if http is not None and at_ms is None:
        return _show_now(open_http(http).get(*_request(broker)), as_json=as_json)
    at_ms = time.time_ns() // 1_000_000 if at_ms is None else at_ms
    answer = _past(broker, at_ms, home, http)
    found = answer.sets if isinstance(answer, PastSets) else [answer.set] if answer.set is not None else []
    if as_json:
        print_json(answer)
    elif not answer.certainty.known:
        print_error(unknown_text(at_ms, answer.certainty))
    else:
        _print_past(found, broker)
        _print_doubts(answer.certainty, at_ms if at is not None else None, led=answer.led)
    return EXIT_OK if found else EXIT_NO


def _request(broker: str | None) -> tuple[str, type[SetsAnswer | SetAnswer]]:
    if broker is None:
        return "/v1/controller/sets", SetsAnswer
    return f"/v1/controller/sets/{path_segment(broker)}", SetAnswer


def _past(broker: str | None, at_ms: int, home: str | None, http: str | None) -> PastSets | PastSetAnswer:
    if http is not None:
        path, kind = _request(broker)
        answer = open_http(http).get(path, kind, {"at": at_ms})
        if answer.past is None:
            raise AssertionError("an answer about a time has a past")
        return answer.past
    if broker is None:
        return read_home(home, lambda past: past.sets_at(at_ms))
    return read_home(home, lambda past: past.set_at(broker, at_ms))


def _show_now(answer: SetsAnswer | SetAnswer, *, as_json: bool) -> int:
    found = answer.sets if isinstance(answer, SetsAnswer) else [answer.set] if answer.set is not None else []
    if as_json:
        print_json(answer)
    else:
        print_table(_HEADINGS, map(_row, found))
        for one in found if isinstance(answer, SetAnswer) else ():
            for replica in one.replicas:
                alive = "alive" if replica.alive else "not alive"
                print_line(f"replica {replica.id} at {replica.addr}: {alive}", indent=2)
    return EXIT_OK if found else EXIT_NO


def _print_past(found: list[PastSet], broker: str | None) -> None:
    print_table(_HEADINGS, map(_row, found))
    for one in found if broker is not None else ():
        began = format_time_or(one.since_ms, "before the first record")
        state = "no master" if one.master_id is None else f"replica {one.master_id} is master"
        print_line(f"{state} from {began} to {format_time_or(one.until_ms, 'now')}")
        if one.cause is not None:
            print_line(f"cause: {cause_text(one.cause)}, record {one.cause.seq}")
        if one.election is not None:
            _print_election(one.election)


def _print_election(election: Election) -> None:
    if election.before_id is not None:
        seen = format_time_or(election.lost_at_ms, "")
        print_line(f"before: replica {election.before_id} at {election.before_addr}{seen and f', last seen {seen}'}")
    if election.unclean:
        print_line("unclean: the new master was not in sync, messages may be lost")
    for candidate in election.candidates:
        alive = "alive" if candidate.alive else "not alive"
        print_line(f"candidate {candidate.id}: {alive}, epoch {candidate.epoch}, offset {candidate.max_offset}")


def _row(one: SetView | PastSet) -> list[object]:
    inside = [str(replica.id) for replica in one.replicas if replica.in_sync]
    outside = [str(replica.id) for replica in one.replicas if not replica.in_sync]
    master = "none" if one.master_id is None else one.master_id
    address = one.master_addr or "-"
    return [one.broker, one.cluster, master, address, one.master_epoch, " ".join(inside), " ".join(outside) or "-"]


def _print_doubts(certainty: Certainty, at_ms: int | None, *, led: bool) -> None:
    print_gaps(certainty, at_ms)
    if certainty.observed and not led:
        print_error("this node did not lead the Controller at that time: the leader may have changed the set")

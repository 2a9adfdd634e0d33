"""`routebook controller elections [BROKER]`: the elections of a Controller, newest first."""

from routebook.cli.framework import argument, command, option
from routebook.cli.http import http_option, open_http
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line, print_table
from routebook.cli.past import check_source, print_gaps, read_home
from routebook.history.query.controller_sets import Election, Elections
from routebook.times import format_time


@command("elections")
@argument("broker", required=False, help="Name of one set.")
@option("--limit", type=int, default=20, metavar="N", help="Maximum number of elections [20].")
@option("--home", metavar="DIR", help="Home folder of a server, running or stopped [ROUTEBOOK_HOME].")
@http_option
@json_option
def elections(*, broker: str | None, limit: int, home: str | None, http: str | None, as_json: bool) -> int:
    """Show when and why masters were elected, or no master was found, newest first.

    Asks the server at --http, or reads the journal of a home folder. The exit code is 1 if it finds no election.
    """
    check_source(home, http, limit)
    answer = _elections(broker, limit, home, http)
    if as_json:
        print_json(answer)
    elif answer.elections:
        print_table(["AT", "SET", "EPOCH", "BEFORE", "MASTER", "CAUSE", "WITHOUT MASTER"], map(_row, answer.elections))
        if answer.more:
            print_line("older elections exist; use --limit to show more")
        print_gaps(answer.certainty, None)
    else:
        print_error("no election is recorded" + ("" if broker is None else f" of {broker}"))
    return EXIT_OK if answer.elections else EXIT_NO


def _elections(broker: str | None, limit: int, home: str | None, http: str | None) -> Elections:
    if http is not None:
        only: dict[str, str | int] = {} if broker is None else {"broker": broker}
        return open_http(http).get("/v1/controller/elections", Elections, {"limit": limit, **only})
    return read_home(home, lambda past: past.elections(broker, limit=limit))


def _row(one: Election) -> list[object]:
    master = "none" if one.master_id is None else f"{one.master_id}{' (unclean)' if one.unclean else ''}"
    by = f" by {one.who or one.peer}" if one.cause == "operator" and (one.who or one.peer) else ""
    lost_ms = None if one.lost_at_ms is None or one.master_id is None else max(0, one.at_ms - one.lost_at_ms)
    return [
        format_time(one.at_ms),
        one.broker,
        one.master_epoch,
        "-" if one.before_id is None else one.before_id,
        master,
        f"{one.cause.replace('_', ' ')}{by}",
        "-" if lost_ms is None else f"{lost_ms / 1000:g} s",
    ]

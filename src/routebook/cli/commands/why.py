"""`routebook why TOPIC`: why a topic has no route, or a limited one, now or at a past time."""

from routebook.cli.framework import command, option, topic_argument
from routebook.cli.http import http_option, open_http
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_json, print_line
from routebook.cli.times import format_time_or, parse_time
from routebook.client.http import DEFAULT_URL, path_segment
from routebook.doctor.why import State, Why


@command("why")
@topic_argument(help="Name of the topic.")
@option("--at", metavar="TIME", help="At this time: 03:12, 'yesterday 03:12', '10m ago', ISO 8601 (UTC) [now].")
@http_option
@json_option
def why(*, topic: str, at: str | None, http: str | None, as_json: bool) -> int:
    """Explain why a topic has no route, or a limited one: the cause, the broker and the evidence.

    Asks the server at --http, which has the history. The exit code is 0 if the topic has a route, else 1.
    """
    query = None if at is None else {"at": parse_time(at, "--at")}
    answer = open_http(http or DEFAULT_URL).get(f"/v1/routes/{path_segment(topic)}/why", Why, query)
    if as_json:
        print_json(answer)
    else:
        _print(answer)
    return EXIT_OK if answer.has_route else EXIT_NO


def _print(answer: Why) -> None:
    print_line(answer.summary)
    if answer.brokers and answer.has_route:
        print_line(f"brokers: {', '.join(answer.brokers)}", indent=2)
    if answer.valid_from_ms is not None and answer.state is not State.UNKNOWN:
        until = format_time_or(answer.valid_to_ms, "now")
        print_line(f"since {format_time_or(answer.valid_from_ms, '')}, until {until}", indent=2)
    if answer.advice:
        print_line(f"advice: {answer.advice}", indent=2)
    if answer.evidence:
        print_line("evidence:", indent=2)
    for fact in answer.evidence:
        print_line(f"{format_time_or(fact.at_ms, '-'):<24}  {fact.text}", indent=4)

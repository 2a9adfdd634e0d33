"""`routebook maintenance plan BROKER`: whether a broker can be restarted now."""

from routebook.cli.framework import Group, broker_argument
from routebook.cli.http import http_option, open_http
from routebook.cli.output import EXIT_NO, EXIT_OK, Colour, json_option, print_json, print_line
from routebook.client.http import DEFAULT_URL, path_segment
from routebook.doctor.maintenance import MaintenancePlan

maintenance = Group("maintenance", help="Plan the restart of a broker.")


@maintenance.command("plan")
@broker_argument("broker", metavar="BROKER", help="Name of the broker group.")
@http_option
@json_option
def plan(*, broker: str, http: str | None, as_json: bool) -> int:
    """Show whether a broker can be restarted now: which topics lose their only broker, and the steps.

    The exit code is 1 if the restart is not safe.
    """
    found = open_http(http or DEFAULT_URL).get(f"/v1/brokers/{path_segment(broker)}/maintenance", MaintenancePlan)
    if as_json:
        print_json(found)
    else:
        _print(found)
    return EXIT_OK if found.safe else EXIT_NO


def _print(found: MaintenancePlan) -> None:
    verdict = "safe" if found.safe else "not safe"
    colour = Colour.CYAN if found.safe else Colour.RED
    print_line(f"{verdict}: restart of {found.broker} (cluster {found.cluster})", colour=colour, of=len(verdict))
    for reason in found.reasons:
        print_line(f"{'!' if reason.blocks else '-'} {reason.text}", indent=2)
    print_line("steps:" if found.safe else "steps, once it is safe:")
    for number, step in enumerate(found.steps, 1):
        print_line(f"{number}. {step}", indent=2)

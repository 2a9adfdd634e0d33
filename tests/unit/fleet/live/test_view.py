"""The live view of a run."""

import io

from rich.console import Console

from routebook.client.addresses import Address
from routebook.fleet.live.report import FaultDone
from routebook.fleet.live.run import FleetRun, FleetStatus
from routebook.fleet.live.view import FleetView
from routebook.fleet.scenario_files import load_scenario
from tests.support.asynchronous import asynchronous

BUSY = FleetStatus(
    elapsed_s=65,
    duration_s=600,
    up=9,
    frozen=1,
    down=2,
    clients=20,
    without_route=3,
    requests=1234,
    timeouts=1,
    failures=5,
    latest=(
        FaultDone(at_s=20, kind="crash", target="broker-001/0", lasts_s=30),
        FaultDone(at_s=60, kind="freeze", target="broker-[bold]/0", lasts_s=0),
    ),
)


class Busy(FleetRun):
    def status(self) -> FleetStatus:
        return BUSY


@asynchronous
async def test_a_page_tells_who_is_up_what_goes_over_the_wire_and_what_happened_last() -> None:
    console = Console(file=io.StringIO(), record=True, width=100)
    run = Busy(load_scenario("quiet-day"), [Address("127.0.0.1", 1)], seed=1)
    console.print(FleetView(run, console).page())
    told = console.export_text()
    for words in ("9 up", "1 frozen", "2 down", "3 topics without a route", "1,234 so far", "65 of 600 s"):
        assert words in told
    assert told.index("freeze") < told.index("crash")
    assert "broker-[bold]/0" in told


@asynchronous
async def test_a_run_that_has_not_begun_can_be_looked_at() -> None:
    run = FleetRun(load_scenario("quiet-day"), [Address("127.0.0.1", 1)], seed=1)
    console = Console(file=io.StringIO(), record=True, width=100)
    console.print(FleetView(run, console).page())
    assert "0 up" in console.export_text()

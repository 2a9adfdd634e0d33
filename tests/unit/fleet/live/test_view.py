"""The live view of a run."""

import io

from rich.console import Console

from routebook.client.addresses import Address
from routebook.fleet.live.report import FaultRecord
from routebook.fleet.live.run import FleetRun, FleetStatus
from routebook.fleet.live.view import FleetView
from routebook.fleet.scenario import load_scenario
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
        FaultRecord(at_s=20, kind="crash", target="broker-001/0", lasts_s=30),
        FaultRecord(at_s=60, kind="freeze", target="broker-[bold]/0", lasts_s=0),
    ),
)


class Busy(FleetRun):
    def status(self) -> FleetStatus:
        return BUSY


@asynchronous
async def test_the_page_shows_brokers_requests_and_the_latest_faults() -> None:
    console = Console(file=io.StringIO(), record=True, width=100)
    run = Busy(load_scenario("quiet-day"), [Address("127.0.0.1", 1)], seed=1)
    console.print(FleetView(run, console).page())
    text = console.export_text()
    for words in ("9 up", "1 frozen", "2 down", "3 topics without a route", "1,234 so far", "65 of 600 s"):
        assert words in text
    assert text.index("freeze") < text.index("crash")
    assert "broker-[bold]/0" in text


@asynchronous
async def test_the_page_of_a_run_that_has_not_started() -> None:
    run = FleetRun(load_scenario("quiet-day"), [Address("127.0.0.1", 1)], seed=1)
    console = Console(file=io.StringIO(), record=True, width=100)
    console.print(FleetView(run, console).page())
    assert "0 up" in console.export_text()

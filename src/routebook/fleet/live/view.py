"""Live view of a running fleet in the terminal."""

import asyncio
from collections import deque
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from routebook.fleet.live.report import FaultRecord
from routebook.fleet.live.run import FleetRun, FleetStatus

_REFRESH_S: Final = 0.5
_RATE_SAMPLES: Final = 6  # refreshes over which the request rate is averaged


class FleetView:
    """Shows a run until its task is cancelled."""

    def __init__(self, run: FleetRun, console: Console) -> None:
        self._run = run
        self._console = console
        self._counts: deque[tuple[float, int]] = deque(maxlen=_RATE_SAMPLES)

    async def show(self) -> None:
        """Refresh twice a second."""
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            while True:
                live.update(self.page(), refresh=True)
                await asyncio.sleep(_REFRESH_S)

    def page(self) -> Group:
        """Render the current status."""
        status = self._run.status()
        now = asyncio.get_running_loop().time()
        self._counts.append((now, status.requests))
        (then, before), span = self._counts[0], now - self._counts[0][0]
        rate = (status.requests - before) / span if span and now > then else 0.0
        title = Text(f"{self._run.scenario.name}: ", style="bold")
        title.append(self._run.scenario.about, style="none")
        return Group(title, _numbers(status, rate), _bar(status), _faults(status.latest))


def _numbers(status: FleetStatus, rate: float) -> Table:
    grid = Table.grid(padding=(0, 2))
    brokers = Text.assemble(("● ", "green"), f"{status.up} up  ")
    if status.frozen:
        brokers.append(f"● {status.frozen} frozen  ", style="yellow")
    if status.down:
        brokers.append(f"● {status.down} down", style="red")
    grid.add_row("brokers", brokers)
    missing = Text("all topics have a route", style="green")
    if status.without_route:
        missing = Text(f"{status.without_route} topics without a route for at least one client", style="red")
    grid.add_row("clients", Text.assemble(f"{status.clients}: ", missing))
    trouble = f"{status.timeouts} timeouts, {status.failures} failures"
    grid.add_row("requests", Text(f"{rate:,.0f}/s, {status.requests:,} so far; {trouble}"))
    return grid


def _bar(status: FleetStatus) -> Table:
    grid = Table.grid(padding=(0, 2))
    done = min(status.elapsed_s, status.duration_s)
    grid.add_row(
        ProgressBar(total=status.duration_s, completed=done, width=40), f"{done:.0f} of {status.duration_s:.0f} s"
    )
    return grid


def _faults(latest: tuple[FaultRecord, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("at", "fault", "target", "for"):
        table.add_column(heading, justify="right" if heading in {"at", "for"} else "left")
    for fault in reversed(latest):
        lasts = f"{fault.lasts_s:g} s" if fault.lasts_s else ""
        table.add_row(f"{fault.at_s:.0f} s", Text(fault.kind, style="yellow"), Text(fault.target), lasts)
    return table

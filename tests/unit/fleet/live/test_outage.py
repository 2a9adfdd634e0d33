"""Outages by a command."""

import asyncio
from pathlib import Path

import pytest

from routebook.errors import UsageError
from routebook.fleet.live.outage import command_outage
from routebook.fleet.scenario import FaultKind
from tests.support.asynchronous import asynchronous


@asynchronous
async def test_the_command_begins_and_ends_the_fault(tmp_path: Path) -> None:
    """It also ends if the fleet stops."""
    script = tmp_path / "fault.sh"
    script.write_text(f'echo "$*" >> {tmp_path}/ran\n')
    outage = command_outage(f"sh {script}")
    await outage(FaultKind.ETCD_KILLED, 0.0)
    stopped = asyncio.create_task(outage(FaultKind.CONTROLLER_KILLED, 600.0))
    async with asyncio.timeout(60):
        while (tmp_path / "ran").read_text().count("\n") < 3:  # noqa: ASYNC110  another process writes it
            await asyncio.sleep(0.01)
        stopped.cancel()
        await asyncio.wait({stopped})
    assert (tmp_path / "ran").read_text().splitlines() == [
        "etcd-killed begin",
        "etcd-killed end",
        "controller-killed begin",
        "controller-killed end",
    ]


@asynchronous
async def test_a_command_that_fails_is_an_error() -> None:
    with pytest.raises(UsageError, match="ended with 1"):
        await command_outage("false")(FaultKind.ETCD_KILLED, 0.0)
    with pytest.raises(UsageError, match="No such file"):
        await command_outage("/no/such/program")(FaultKind.ETCD_KILLED, 0.0)
    with pytest.raises(UsageError, match="empty"):
        command_outage(" ")

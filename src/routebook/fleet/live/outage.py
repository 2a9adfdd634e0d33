"""Faults of the Controller's processes, injected by a command of the operator, which has started them."""

import asyncio
import shlex
from collections.abc import Callable, Coroutine
from typing import Any

from routebook.errors import UsageError
from routebook.fleet.scenario import FaultKind


def command_outage(command: str) -> Callable[[FaultKind, float], Coroutine[Any, Any, None]]:
    """Runs `COMMAND KIND begin`, waits, and runs `COMMAND KIND end`, also if the fleet stops or `begin` fails."""
    words = shlex.split(command)
    if not words:
        raise UsageError("--outage-command is empty; pass a program that begins and ends a fault")

    async def outage(kind: FaultKind, lasts_s: float) -> None:
        try:
            await _run(*words, str(kind), "begin")
            await asyncio.sleep(lasts_s)
        finally:
            await _run(*words, str(kind), "end")

    return outage


async def _run(*words: str) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*words)
    except OSError as error:
        raise UsageError(f"--outage-command {words[0]}: {error.strerror}") from None
    if await process.wait() != 0:
        raise UsageError(f"--outage-command: `{shlex.join(words)}` ended with {process.returncode}")

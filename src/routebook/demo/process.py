"""A `routebook` process of the demo: started, watched until it listens, stopped within seconds."""

import asyncio
import contextlib
import ctypes
import re
import signal
import sys
from typing import Final

from routebook.errors import RoutebookError

_START_S: Final = 60.0
_STOP_S: Final = 4.5
_PR_SET_PDEATHSIG: Final = 1
_LISTENING: Final = re.compile(r"listening on (\S+) \((\w+)\)")


class DemoError(RoutebookError):
    """A process of the demo did not start; the message contains its output."""


class Process:
    """`routebook` with these arguments; it has started when all `listeners` (nameserver, http) are open."""

    def __init__(self, *arguments: str, listeners: frozenset[str]) -> None:
        self._arguments = arguments
        self._listeners = listeners
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start and wait until all listeners are open. Raises DemoError."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "routebook", *self._arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # ctrl-c goes to the demo only, which then stops its processes
            preexec_fn=_stop_with_parent if sys.platform == "linux" else None,
        )
        output = self._process.stdout
        if output is None:
            raise DemoError("cannot read the output of a process of the demo")
        printed: list[str] = []
        missing = set(self._listeners)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                while missing and (line := await output.readline()):
                    printed.append(line.decode(errors="replace"))
                    if found := _LISTENING.search(printed[-1]):
                        missing.discard(found[2])
        if missing:
            await self.stop()
            raise DemoError(f"routebook {' '.join(self._arguments)} did not start:\n{''.join(printed)}")
        self._drain = asyncio.create_task(_discard(output))

    async def stop(self) -> None:
        """Stop with SIGTERM, and with SIGKILL if that takes too long."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        if self._drain is not None:
            self._drain.cancel()  # a Spark process that is still ending may hold the pipe
            await asyncio.gather(self._drain, return_exceptions=True)


def _stop_with_parent() -> None:
    """In the new process: SIGTERM when the demo ends, so that a killed demo leaves nothing behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(1 << 16):
        pass

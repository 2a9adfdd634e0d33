"""Client of the process that reads the lake: starts it on the first query and stops it after five idle minutes."""

import asyncio
import contextlib
import sys
from typing import Final

import msgspec

from routebook.server.http.errors import ApiError
from routebook.server.http.lake.messages import Query, Result

_IDLE_S: Final = 300.0
_QUERY_TIMEOUT_S: Final = 60.0
_MAX_WAITING: Final = 16
_MAX_LINE_BYTES: Final = 32 << 20
_MODULE: Final = "routebook.server.http.lake.child"


class LakeReader:
    """Runs one query at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._idle_timer: asyncio.TimerHandle | None = None

    async def query(self, query: Query) -> bytes:
        """The result as JSON. Raises ApiError."""
        if self._waiting >= _MAX_WAITING:
            raise ApiError(503, "too many report queries at once", "retry in a few seconds", code="busy")
        self._waiting += 1
        try:
            async with self._lock:
                result = await self._run(query)
        finally:
            self._waiting -= 1
        if result.status != 200:
            hint = f"run {result.command}" if result.command else "see the server's log and `routebook lake tables`"
            raise ApiError(result.status, result.error, hint, code=result.code, command=result.command)
        return bytes(result.body)

    def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _run(self, query: Query) -> Result:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        try:
            async with asyncio.timeout(_QUERY_TIMEOUT_S):
                line = await self._exchange(msgspec.json.encode(query) + b"\n")
            return msgspec.json.decode(line, type=Result)
        except (TimeoutError, OSError, ValueError, msgspec.DecodeError) as problem:
            self.close()
            why = "the query timed out" if isinstance(problem, TimeoutError) else str(problem) or type(problem).__name__
            raise ApiError(503, f"cannot read the lake: {why}", "retry in a few seconds", code="lake-failed") from None
        except asyncio.CancelledError:
            self.close()  # a late result would be mistaken for that of the next query
            raise
        finally:
            self._idle_timer = asyncio.get_running_loop().call_later(_IDLE_S, self.close)

    async def _exchange(self, line: bytes) -> bytes:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _MODULE),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_MAX_LINE_BYTES,
            )
        if process.stdin is None or process.stdout is None:
            raise OSError("its pipes are closed")
        process.stdin.write(line)
        await process.stdin.drain()
        result = await process.stdout.readline()
        if not result:
            raise OSError("the process that reads it exited")
        return result

"""Asks the process that reads the lake; starts it when somebody wants to know, and ends it when nobody has for long."""

import asyncio
import contextlib
import sys
from typing import Final

import msgspec

from routebook.server.http.errors import Refusal
from routebook.server.http.lake.messages import Answer, Question

_IDLE_S: Final = 300.0
_ANSWER_S: Final = 60.0
_MOST_WAITING: Final = 16
_LINE_BYTES: Final = 32 << 20
_CHILD: Final = "routebook.server.http.lake.child"


class LakeReader:
    """One question at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._end: asyncio.TimerHandle | None = None

    async def ask(self, question: Question) -> bytes:
        """The answer's JSON. Raises Refusal."""
        if self._waiting >= _MOST_WAITING:
            raise Refusal(503, "too many ask for reports at once", "ask again in a moment", code="busy")
        self._waiting += 1
        try:
            async with self._turn:
                answer = await self._asked(question)
        finally:
            self._waiting -= 1
        if answer.status != 200:
            hint = (
                f"run {answer.command}" if answer.command else "the server's log and `routebook lake tables` say more"
            )
            raise Refusal(answer.status, answer.error, hint, code=answer.code, command=answer.command)
        return bytes(answer.body)

    def close(self) -> None:
        if self._end is not None:
            self._end.cancel()
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _asked(self, question: Question) -> Answer:
        if self._end is not None:
            self._end.cancel()
        try:
            async with asyncio.timeout(_ANSWER_S):
                line = await self._exchange(msgspec.json.encode(question) + b"\n")
            return msgspec.json.decode(line, type=Answer)
        except (TimeoutError, OSError, ValueError, msgspec.DecodeError) as problem:
            self.close()
            why = "it took too long" if isinstance(problem, TimeoutError) else str(problem) or type(problem).__name__
            raise Refusal(503, f"the lake cannot be read: {why}", "ask again in a moment", code="lake-failed") from None
        except asyncio.CancelledError:
            self.close()  # whatever it answers would be taken for the answer to the next question
            raise
        finally:
            self._end = asyncio.get_running_loop().call_later(_IDLE_S, self.close)

    async def _exchange(self, line: bytes) -> bytes:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _CHILD),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LINE_BYTES,
            )
        if process.stdin is None or process.stdout is None:
            raise OSError("its pipes are not there")
        process.stdin.write(line)
        await process.stdin.drain()
        answer = await process.stdout.readline()
        if not answer:
            raise OSError("the process that reads it has ended")
        return answer

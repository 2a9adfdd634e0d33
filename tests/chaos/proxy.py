"""A TCP proxy that drops, delays, cuts, splits, duplicates and reorders the traffic to one NameServer."""

import asyncio
import contextlib
from enum import StrEnum
from typing import Final

_DELAY_S: Final = 0.4
_PIECE_BYTES: Final = 7


class Mode(StrEnum):
    """What the proxy does with the traffic."""

    PASS = "pass"  # forward
    CUT = "cut"  # close all connections, new ones too
    DROP = "drop"  # hold all bytes and keep the connections open
    DELAY = "delay"  # forward later
    SPLIT = "split"  # forward a few bytes at a time
    DUPLICATE = "duplicate"  # send everything a second time over another connection
    REORDER = "reorder"  # hold new connections until the mode ends, then make them in reverse order


class Proxy:
    """Listens on its own port; the mode can change at any time."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._waiting: list[asyncio.Event] = []
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._mode = Mode.PASS
        self.port = 0
        self.connections = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self.set_mode(Mode.CUT)
        await asyncio.gather(*self._carrying, return_exceptions=True)

    async def set_mode(self, mode: Mode) -> None:
        self._mode = mode
        if mode is Mode.DROP:
            self._flowing.clear()
        else:
            self._flowing.set()
        if mode is Mode.CUT:
            for writer in list(self._open):
                writer.transport.abort()
        if mode is not Mode.REORDER:
            waiting, self._waiting = self._waiting, []
            for turn in reversed(waiting):
                turn.set()
                await asyncio.sleep(0.01)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        try:
            if self._mode is Mode.REORDER:
                turn = asyncio.Event()
                self._waiting.append(turn)
                await turn.wait()
            if self._mode is not Mode.CUT:
                await self._carry(reader, writer)
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            self._carrying.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers: list[asyncio.StreamWriter] = []
        tasks: list[asyncio.Task[None]] = []
        try:
            for number in range(2 if self._mode is Mode.DUPLICATE else 1):
                answers, to_server = await asyncio.open_connection(*self._target)
                writers.append(to_server)
                self._open.add(to_server)
                tasks.append(asyncio.create_task(self._pump(answers, [writer] if number == 0 else [])))
            requests = asyncio.create_task(self._pump(reader, writers))
            tasks.append(requests)
            await asyncio.wait([tasks[0], requests], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for one in writers:
                self._open.discard(one)
                one.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter]) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._flowing.wait()
                if self._mode is Mode.DELAY:
                    await asyncio.sleep(_DELAY_S)
                size = _PIECE_BYTES if self._mode is Mode.SPLIT else len(data)
                for at in range(0, len(data), size):
                    for writer in writers:
                        writer.write(data[at : at + size])
                    if size < len(data):
                        await asyncio.sleep(0)

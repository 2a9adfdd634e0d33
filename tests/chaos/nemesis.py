"""Faults, one after the other, for one NameServer: each begins, lasts, ends, and is noted."""

import asyncio
import contextlib
import random
import resource
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final

from tests.chaos.history import Fault, History
from tests.chaos.nameserver import ChaosNameServer
from tests.chaos.proxy import Way
from tests.support.remoting_frames import Request

CALM_S: Final = 5.5  # after each: so long that all promises hold again
_SPARE_FILES: Final = 3
_SPARE_BYTES: Final = 16 << 20
_LARGE_BYTES: Final = 12 << 20
_CROWD: Final = 40

Making = Callable[[ChaosNameServer], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def network(way: Way, nameserver: ChaosNameServer) -> AsyncIterator[None]:
    await nameserver.proxy.go(way)
    try:
        yield
    finally:
        await nameserver.proxy.go(Way.CUT)  # what hangs in the proxy would be heard long after
        await nameserver.proxy.go(Way.PASS)


@asynccontextmanager
async def kill(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    await asyncio.to_thread(nameserver.kill)
    try:
        yield
    finally:
        await nameserver.again()


@asynccontextmanager
async def stand_still(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    nameserver.send(signal.SIGSTOP)
    try:
        yield
    finally:
        nameserver.send(signal.SIGCONT)


@asynccontextmanager
async def full_disk(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    await asyncio.to_thread(nameserver.disk.fill)
    try:
        yield
    finally:
        nameserver.disk.free()


@asynccontextmanager
async def full_disk_and_kill(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """It dies while nothing can be written, and starts when that is over."""
    async with full_disk(nameserver):
        await asyncio.sleep(0.5)
        await asyncio.to_thread(nameserver.kill)
        yield
    await nameserver.again()


@asynccontextmanager
async def slow_disk(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    nameserver.turn("fsync", 0.7)
    try:
        yield
    finally:
        nameserver.turn("fsync", 0)


@asynccontextmanager
async def clock_jump(by_s: float, nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """The wall clock is wrong, and then right again: two jumps."""
    nameserver.turn("clock", by_s)
    try:
        yield
    finally:
        nameserver.turn("clock", 0)


@asynccontextmanager
async def few_files(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """It may open hardly a file more, and many connect."""
    nameserver.allow(resource.RLIMIT_NOFILE, nameserver.open_files() + _SPARE_FILES)
    crowd: list[asyncio.StreamWriter] = []
    try:
        for _ in range(_CROWD):
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(0.2):
                    crowd.append((await asyncio.open_connection("127.0.0.1", nameserver.port))[1])
        yield
    finally:
        for one in crowd:
            one.transport.abort()
        nameserver.allow(resource.RLIMIT_NOFILE, None)


@asynccontextmanager
async def little_memory(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """It gets hardly any memory more, and large frames come. If it dies of that, it is started again."""
    nameserver.allow(resource.RLIMIT_AS, nameserver.virtual_bytes() + _SPARE_BYTES)
    large = Request(code=103, body=b"{" + b" " * _LARGE_BYTES).encode()
    try:
        for _ in range(4):
            await asyncio.to_thread(_send, nameserver.port, large)
        yield
    finally:
        nameserver.allow(resource.RLIMIT_AS, None)
        await asyncio.sleep(1)  # one that is dying of it dies of it
        if nameserver.process.exit_code is not None:
            nameserver.deaths += 1
        await nameserver.again()


FAULTS: Final[dict[str, Making]] = {
    "kill -9": kill,
    "SIGSTOP": stand_still,
    "full disk": full_disk,
    "full disk and kill -9": full_disk_and_kill,
    "slow disk": slow_disk,
    "clock an hour ahead": partial(clock_jump, 3600.0),
    "clock an hour back": partial(clock_jump, -3600.0),
    "no file left": few_files,
    "no memory left": little_memory,
    **{f"network: {way}": partial(network, way) for way in Way if way is not Way.PASS},
}


class Deck:
    """All kinds in random order, dealt to whichever NameServer is next; then shuffled again."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._due: list[str] = []

    def deal(self) -> str:
        if not self._due:
            self._due = self._chance.sample(list(FAULTS), len(FAULTS))
        return self._due.pop()


async def disturb(
    nameserver: ChaosNameServer, history: History, deck: Deck, chance: random.Random, *, until: float
) -> None:
    """One fault after the other, as long as there is time."""
    loop = asyncio.get_running_loop()
    while True:
        lasts_s = chance.uniform(1.5, 3.5)
        if loop.time() + lasts_s > until:
            return
        kind, began = deck.deal(), loop.time()
        async with FAULTS[kind](nameserver):
            await asyncio.sleep(lasts_s)
        history.faults.append(Fault(nameserver=nameserver.name, kind=kind, began=began, ended=loop.time()))
        await asyncio.sleep(CALM_S + chance.uniform(0, 1))
        ended = nameserver.process.exit_code
        assert ended is None, f"it ended with {ended} after {kind}, and said:\n{nameserver.process.log[-6000:]}"


def _send(port: int, data: bytes) -> None:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as one:
        one.sendall(data)
        one.recv(1)

"""Injects faults into a NameServer one after the other, and records each with its begin and end."""

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

from tests.chaos.fault_sequence import FaultSequence
from tests.chaos.history import Fault, History
from tests.chaos.nameserver import ChaosNameServer
from tests.chaos.proxy import Mode
from tests.support.remoting_frames import Request

CALM_S: Final = 5.5  # after each fault, until all guarantees apply again
_SPARE_FILES: Final = 3
_SPARE_BYTES: Final = 16 << 20
_LARGE_BYTES: Final = 12 << 20
_CONNECTIONS: Final = 40

MakeFault = Callable[[ChaosNameServer], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def network(mode: Mode, nameserver: ChaosNameServer) -> AsyncIterator[None]:
    await nameserver.proxy.set_mode(mode)
    try:
        yield
    finally:
        await nameserver.proxy.set_mode(Mode.CUT)  # discards what the proxy still holds
        await nameserver.proxy.set_mode(Mode.PASS)


@asynccontextmanager
async def kill(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    await asyncio.to_thread(nameserver.kill)
    try:
        yield
    finally:
        await nameserver.restart()


@asynccontextmanager
async def freeze(nameserver: ChaosNameServer) -> AsyncIterator[None]:
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
    """Kill it while the disk is full, and start it when the disk has room again."""
    async with full_disk(nameserver):
        await asyncio.sleep(0.5)
        await asyncio.to_thread(nameserver.kill)
        yield
    await nameserver.restart()


@asynccontextmanager
async def slow_disk(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    nameserver.inject("fsync", 0.7)
    try:
        yield
    finally:
        nameserver.inject("fsync", 0)


@asynccontextmanager
async def clock_jump(by_s: float, nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """Set the wall clock wrong and right again: two jumps."""
    nameserver.inject("clock", by_s)
    try:
        yield
    finally:
        nameserver.inject("clock", 0)


@asynccontextmanager
async def few_files(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """Limit the open files to a few more, and open many connections."""
    nameserver.limit(resource.RLIMIT_NOFILE, nameserver.open_files() + _SPARE_FILES)
    connections: list[asyncio.StreamWriter] = []
    try:
        for _ in range(_CONNECTIONS):
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(0.2):
                    connections.append((await asyncio.open_connection("127.0.0.1", nameserver.port))[1])
        yield
    finally:
        for one in connections:
            one.transport.abort()
        nameserver.limit(resource.RLIMIT_NOFILE, None)


@asynccontextmanager
async def little_memory(nameserver: ChaosNameServer) -> AsyncIterator[None]:
    """Limit the memory to a little more, and send large frames. Restart the process if it exits."""
    nameserver.limit(resource.RLIMIT_AS, nameserver.virtual_bytes() + _SPARE_BYTES)
    large = Request(code=103, body=b"{" + b" " * _LARGE_BYTES).encode()
    try:
        for _ in range(4):
            await asyncio.to_thread(_send, nameserver.port, large)
        yield
    finally:
        nameserver.limit(resource.RLIMIT_AS, None)
        await asyncio.sleep(1)  # a process that is about to exit for lack of memory exits
        if nameserver.process.exit_code is not None:
            nameserver.deaths += 1
        await nameserver.restart()


FAULTS: Final[dict[str, MakeFault]] = {
    "kill -9": kill,
    "SIGSTOP": freeze,
    "full disk": full_disk,
    "full disk and kill -9": full_disk_and_kill,
    "slow disk": slow_disk,
    "clock an hour ahead": partial(clock_jump, 3600.0),
    "clock an hour back": partial(clock_jump, -3600.0),
    "no file left": few_files,
    "no memory left": little_memory,
    **{f"network: {mode}": partial(network, mode) for mode in Mode if mode is not Mode.PASS},
}


async def disturb(
    nameserver: ChaosNameServer, history: History, sequence: FaultSequence, chance: random.Random, *, until: float
) -> None:
    """Inject one fault after the other until `until`."""
    loop = asyncio.get_running_loop()
    while True:
        lasts_s = chance.uniform(1.5, 3.5)
        if loop.time() + lasts_s > until:
            return
        kind, began = sequence.next(), loop.time()
        async with FAULTS[kind](nameserver):
            await asyncio.sleep(lasts_s)
        history.faults.append(Fault(nameserver=nameserver.name, kind=kind, began=began, ended=loop.time()))
        await asyncio.sleep(CALM_S + chance.uniform(0, 1))
        ended = nameserver.process.exit_code
        assert ended is None, f"exit code {ended} after {kind}; log:\n{nameserver.process.log[-6000:]}"


def _send(port: int, data: bytes) -> None:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as one:
        one.sendall(data)
        one.recv(1)

"""Measures the cost of open consoles: CPU time of the server without and with them, at 300 brokers × 10,000 topics."""

import argparse
import asyncio
from pathlib import Path
from typing import Final

from websockets.asyncio.client import connect

from benchmarks.suite.console_fleet import RunningServer, clients_of, register_all, run_server, send_heartbeats

TICKS_PER_S: Final = 100


async def main(brokers: int, topics: int, consoles: int, seconds: float) -> None:
    async with run_server() as server:
        await measure(server, brokers=brokers, topics=topics, consoles=consoles, seconds=seconds)


async def measure(server: RunningServer, *, brokers: int, topics: int, consoles: int, seconds: float) -> None:
    pid = server.pid
    clients = clients_of(server, brokers)
    await register_all(clients, topics=topics)
    heartbeats = asyncio.create_task(send_heartbeats(clients))
    print(f"{brokers} brokers, {topics} topics, {resident_mb(pid):.0f} MB")
    await asyncio.sleep(5)
    alone = await cpu_share(pid, seconds)
    print(f"without consoles: {alone:.2f} % of a core")
    received = [0, 0]
    tabs = [asyncio.create_task(tab(server.http, received)) for _ in range(consoles)]
    await asyncio.sleep(5)
    received[:] = [0, 0]
    share = await cpu_share(pid, seconds)
    print(
        f"{consoles} consoles: {share:.2f} % of a core, {share - alone:.2f} % more; {resident_mb(pid):.0f} MB; "
        f"each receives {received[0] / consoles / seconds:.1f} messages, {received[1] / consoles / seconds:.0f} bytes/s"
    )
    for task in [*tabs, heartbeats]:
        task.cancel()
    await asyncio.gather(*tabs, heartbeats, return_exceptions=True)
    await asyncio.gather(*(client.aclose() for client in clients))


async def tab(address: str, received: list[int]) -> None:
    async with connect(f"ws://{address}/v1/live", max_size=None, compression=None) as socket:
        async for message in socket:
            received[0] += 1
            received[1] += len(message)


async def cpu_share(pid: int, seconds: float) -> float:
    before = cpu_ticks(pid)
    await asyncio.sleep(seconds)
    return (cpu_ticks(pid) - before) / TICKS_PER_S / seconds * 100


def cpu_ticks(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(stat[11]) + int(stat[12])


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--consoles", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    asyncio.run(main(given.brokers, given.topics, given.consoles, given.seconds))

"""What open consoles cost the server: its CPU time with none and with many, at 300 brokers × 10,000 topics."""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from websockets.asyncio.client import connect

from routebook.client.client import NameServerClient
from routebook.client.requests import Request
from routebook.codes import RequestCode

TICKS_PER_S: Final = 100


async def main(brokers: int, topics: int, consoles: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as home:
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "routebook", "serve", "--home", home),
            *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "error"),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            places: dict[str, str] = {}
            while len(places) < 2:
                line = (await server.stdout.readline()).decode()
                if line.startswith("listening on "):
                    places[line.split("(")[1].rstrip(")\n")] = line.split()[2]
            await measure(server.pid, places, brokers=brokers, topics=topics, consoles=consoles, seconds=seconds)
        finally:
            server.terminate()
            await server.wait()


async def measure(
    pid: int, places: dict[str, str], *, brokers: int, topics: int, consoles: int, seconds: float
) -> None:
    clients = [NameServerClient(places["nameserver"], timeout_s=120) for _ in range(brokers)]
    body = registration(topics)
    for number, client in enumerate(clients):
        await client.ask(Request(RequestCode.REGISTER_BROKER, lambda _: None, fields(number), body), timeout_s=120)
    beating = asyncio.create_task(beat(clients))
    print(f"{brokers} brokers, {topics} topics, {resident_mb(pid):.0f} MB")
    await asyncio.sleep(5)
    alone = await cpu_share(pid, seconds)
    print(f"no console: {alone:.2f} % of a core")
    received = [0, 0]
    tabs = [asyncio.create_task(tab(places["http"], received)) for _ in range(consoles)]
    await asyncio.sleep(5)
    received[:] = [0, 0]
    share = await cpu_share(pid, seconds)
    print(
        f"{consoles} consoles: {share:.2f} % of a core, {share - alone:.2f} % more; {resident_mb(pid):.0f} MB; "
        f"each got {received[0] / consoles / seconds:.1f} messages, {received[1] / consoles / seconds:.0f} bytes/s"
    )
    for task in [*tabs, beating]:
        task.cancel()
    await asyncio.gather(*tabs, beating, return_exceptions=True)
    await asyncio.gather(*(client.aclose() for client in clients))


async def beat(clients: list[NameServerClient]) -> None:
    """Every broker every ten seconds, evenly."""
    while True:
        for number, client in enumerate(clients):
            await client.ask(Request(RequestCode.BROKER_HEARTBEAT, lambda _: None, fields(number), None))
            await asyncio.sleep(10 / len(clients))


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


def fields(number: int) -> dict[str, str]:
    addr = f"10.{number // 250}.{number % 250}.1:10911"
    return {
        "brokerName": f"broker-{number:03}",
        "brokerAddr": addr,
        "clusterName": f"c{number % 3}",
        "haServerAddr": addr,
        "brokerId": "0",
    }


def registration(topics: int) -> bytes:
    table = {
        f"topic-{number:05}": {
            "topicName": f"topic-{number:05}",
            "readQueueNums": 8,
            "writeQueueNums": 8,
            "perm": 6,
            "topicSysFlag": 0,
        }
        for number in range(topics)
    }
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1_700_000_000_000}
    wrapper = {"dataVersion": version, "topicConfigTable": table}
    return json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--consoles", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    asyncio.run(main(given.brokers, given.topics, given.consoles, given.seconds))

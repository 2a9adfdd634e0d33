"""A Routebook server with many brokers and topics, for the console benchmarks."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from benchmarks.suite.plans import register_body, topic_names
from routebook.client.client import NameServerClient
from routebook.client.requests import Request
from routebook.codes import RequestCode

ANSWER_S: Final = 300.0  # the browser runs on the same machine


class RunningServer(NamedTuple):
    """A server process and its addresses."""

    pid: int
    nameserver: str
    http: str


@asynccontextmanager
async def run_server() -> AsyncIterator[RunningServer]:
    """Start a server with a temporary home."""
    with tempfile.TemporaryDirectory() as home:
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "routebook", "serve", "--home", home),
            *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "error"),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            addresses: dict[str, str] = {}
            while len(addresses) < 2 and (line := (await server.stdout.readline()).decode()):
                if line.startswith("listening on "):
                    addresses[line.split("(")[1].rstrip(")\n")] = line.split()[2]
            yield RunningServer(server.pid, addresses["nameserver"], addresses["http"])
        finally:
            server.terminate()
            await server.wait()


def clients_of(server: RunningServer, brokers: int) -> list[NameServerClient]:
    return [NameServerClient(server.nameserver, timeout_s=ANSWER_S) for _ in range(brokers)]


async def register_all(clients: list[NameServerClient], *, topics: int, version: int = 1) -> None:
    """Register each client as one broker with the given number of topics."""
    body = register_body(topic_names(topics), counter=version)
    for number, client in enumerate(clients):
        await client.ask(Request(RequestCode.REGISTER_BROKER, lambda _: None, fields(number), body), timeout_s=ANSWER_S)


async def send_heartbeats(clients: list[NameServerClient], *, first: int = 0) -> None:
    """Send a heartbeat of every broker, from `first` on, every ten seconds, evenly spread."""
    while True:
        for number, client in enumerate(clients[first:], first):
            await client.ask(Request(RequestCode.BROKER_HEARTBEAT, lambda _: None, fields(number), None))
            await asyncio.sleep(10 / len(clients))


def fields(number: int) -> dict[str, str]:
    addr = f"10.{number // 250}.{number % 250}.1:10911"
    name = {"brokerName": f"broker-{number:03}", "brokerAddr": addr, "brokerId": "0"}
    return {**name, "clusterName": f"c{number % 3}", "haServerAddr": addr, "heartbeatTimeoutMillis": "3600000"}

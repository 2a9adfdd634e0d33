"""Brokers that stay registered at a NameServer for the duration of a test."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from routebook.client import NameServerClient
from routebook.model import DataVersion, RegisterBody, Registration, TopicConfig

VERSION = DataVersion(counter=1, state_version=0, timestamp=1_700_000_000_000)


def topic(name: str, *, read: int = 8, write: int = 8, perm: int = 6, flag: int = 0) -> TopicConfig:
    return TopicConfig(topic_name=name, perm=perm, read_queue_nums=read, topic_sys_flag=flag, write_queue_nums=write)


def broker(
    name: str,
    *topics: TopicConfig,
    cluster: str = "c1",
    addr: str | None = None,
    broker_id: int = 0,
    zone: str | None = None,
    counter: int = 1,
) -> Registration:
    addr = addr or f"127.0.0.1:{20000 + sum(name.encode()) + broker_id}"
    version = DataVersion(counter=counter, state_version=0, timestamp=1_700_000_000_000)
    return Registration(
        cluster=cluster,
        broker=name,
        addr=addr,
        broker_id=broker_id,
        ha_addr=addr,
        timeout_ms=None,
        acting_master=False,
        zone=zone,
        body=RegisterBody(topics=topics, data_version=version, mappings={}, filter_servers=()),
    )


@contextmanager
def registered(address: str, brokers: Sequence[Registration]) -> Iterator[None]:
    """Register all of them over one connection, which a thread keeps open."""
    ready, done = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    async def hold() -> None:
        async with NameServerClient(address, timeout_s=30) as client:
            for registration in brokers:
                await client.register_broker(registration)
            ready.set()
            await asyncio.to_thread(done.wait)

    def work() -> None:
        try:
            asyncio.run(hold())
        except BaseException as error:  # noqa: BLE001 - raised again in the test
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        ready.wait()
        if failed:
            raise failed[0]
        yield
    finally:
        done.set()
        thread.join()

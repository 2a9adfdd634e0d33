"""A route watcher beside a real server that pushes: it sees a change without asking in turn, also after a restart."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from routebook.client import NameServerClient, RouteChange, RouteWatcher
from routebook.client.watcher import WatchEvent
from routebook.model import DataVersion, RegisterBody, Registration, TopicConfig
from tests.support.asynchronous import asynchronous
from tests.support.process import serving

AN_HOUR_S = 3600.0  # so that only push can make it look


def registration(broker: str, *topics: str) -> Registration:
    version = DataVersion(counter=len(topics), state_version=0, timestamp=1_700_000_000_000)
    configs = tuple(TopicConfig(topic_name=topic) for topic in topics)
    return Registration(
        cluster="c",
        broker=broker,
        addr=f"127.0.0.1:{10911 + len(broker)}",
        broker_id=0,
        ha_addr=None,
        timeout_ms=None,
        acting_master=None,
        zone=None,
        body=RegisterBody(topics=configs, data_version=version, mappings={}, filter_servers=()),
    )


async def until_on(events: AsyncIterator[WatchEvent], *brokers: str) -> None:
    """Until `orders` is on these brokers."""
    async with asyncio.timeout(30):
        async for event in events:
            route = event.after if isinstance(event, RouteChange) else None
            if sorted(data.broker_name for data in route.broker_datas) == list(brokers) if route else not brokers:
                return


@asynchronous
async def test_push_triggers_look_ups_also_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as first:
        url, port = first.wait_until_http(), first.port
        async with NameServerClient(f"127.0.0.1:{port}") as client:
            events = aiter(RouteWatcher(client, ["orders"], every_s=AN_HOUR_S, push=url))
            async with NameServerClient(f"127.0.0.1:{port}") as broker:
                pending = asyncio.ensure_future(until_on(events, "a"))
                await broker.register_broker(registration("a", "orders", "other"))
                await pending
                pending = asyncio.ensure_future(until_on(events, "a", "bb"))
                await broker.register_broker(registration("bb", "orders", "other"))
                await pending
                first.stop()
            http = url.removeprefix("http://")
            with serving(tmp_path, "--cold", listen=f"127.0.0.1:{port}", http=http):
                await until_on(events)  # the restart emptied the tables; polling is an hour away

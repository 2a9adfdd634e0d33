"""A thousand watchers on one server: all receive every event while the NameServer keeps responding."""

import asyncio
from pathlib import Path

import pytest

from tests.support.asynchronous import asynchronous
from tests.support.http import ServerSent, StreamParser
from tests.support.process import serving
from tests.support.remoting import Client, put_kv, route

WATCHERS = 1000
EVENTS = 30
ONLY_KV = "?kind=kv_changed"  # a minute may end meanwhile, and its events take numbers of their own


class Watcher:
    """One connection to /v1/events."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = StreamParser()

    @classmethod
    async def connect(cls, url: str, *, last_event_id: int | None = None, query: str = "") -> "Watcher":
        host, _, port = url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        resume = "" if last_event_id is None else f"Last-Event-ID: {last_event_id}\r\n"
        writer.write(f"GET /v1/events{query} HTTP/1.0\r\nHost: localhost\r\n{resume}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        await reader.readuntil(b": routebook\n\n")
        return cls(reader, writer)

    async def take(self, count: int) -> list[ServerSent]:
        found: list[ServerSent] = []
        while len(found) < count:
            chunk = await self._reader.read(1 << 16)
            assert chunk, "the server closed"
            found += self._parser.feed(chunk)
        return found

    def close(self) -> None:
        self._writer.close()


def write(address: tuple[str, int], first: int) -> None:
    """Create events and look up routes meanwhile."""
    with Client(address) as client:
        for number in range(first, first + EVENTS):
            assert client.ask(put_kv(f"k{number}", "v")).code == 0
            assert client.ask(route("nowhere")).code == 17


@pytest.mark.slow
@asynchronous
async def test_a_thousand_watchers_see_everything_and_resume(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as ns:
        url = ns.wait_until_http()
        watchers = [await Watcher.connect(url, query=ONLY_KV) for _ in range(WATCHERS)]
        writing = asyncio.ensure_future(asyncio.to_thread(write, ns.address, 0))
        seen = await asyncio.gather(*[watcher.take(EVENTS) for watcher in watchers])
        await writing
        ids = [int(sent.id) for sent in seen[0]]
        assert ids == sorted(set(ids))
        assert [f'"key":"k{number}"' in sent.data for number, sent in enumerate(seen[0])] == [True] * EVENTS
        assert all([(sent.id, sent.data) for sent in one] == [(sent.id, sent.data) for sent in seen[0]] for one in seen)
        assert ns.resident_bytes() < 250 << 20
        for watcher in watchers:
            watcher.close()

        # all of them come back at once, each with the number it had
        back = await asyncio.gather(
            *[Watcher.connect(url, last_event_id=ids[number % EVENTS], query=ONLY_KV) for number in range(WATCHERS)]
        )
        writing = asyncio.ensure_future(asyncio.to_thread(write, ns.address, EVENTS))
        missing = [2 * EVENTS - 1 - number % EVENTS for number in range(WATCHERS)]
        rest = await asyncio.gather(*[one.take(count) for one, count in zip(back, missing, strict=True)])
        await writing
        for number, one in enumerate(rest):
            keys = range(1 + number % EVENTS, 2 * EVENTS)
            assert len(one) == len(keys)
            assert all(f'"key":"k{key}"' in sent.data for key, sent in zip(keys, one, strict=True))
        for watcher in back:
            watcher.close()
        assert ns.exit_code is None

"""The HTTP application over a NameServer core and a journal in memory, and a parser of its event stream."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, NamedTuple

import httpx
import msgspec

from routebook.events import Event, KvChanged
from routebook.journal.files import Files
from routebook.journal.record import FORMAT_VERSION, Record
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from routebook.server.http.api.parts import Parts
from routebook.server.http.app import create_app
from routebook.server.http.context import HttpContext
from routebook.server.http.guard import Guard
from routebook.server.http.transport.hosts import allowed_hosts
from routebook.server.net.traffic import Traffic
from routebook.server.observe.health import Health
from routebook.server.state.feed import Feed
from routebook.server.state.persistence import journal_health
from tests.support.core_client import CoreClient
from tests.support.faulty_files import FaultyFiles


class Rig:
    """The parts of one server without sockets: `asker` changes the tables, `record` journals and publishes."""

    def __init__(self, writer: Writer | None, files: Files | None, settings: Mapping[str, str] | None = None) -> None:
        self.asker = CoreClient(**(settings or {}))
        self.writer = writer
        self.traffic = Traffic()
        self.health = Health()
        if writer is not None:
            self.health.add("journal", lambda: journal_health(writer.status()))
        self.feed = Feed(last_seq=None if writer is None else writer.status().last_seq)
        self._seq = 0
        self.context = HttpContext(
            nameserver=self.asker.nameserver,
            traffic=self.traffic,
            health=self.health,
            feed=self.feed,
            now_ms=lambda: self.asker.now_ms,
            listen="127.0.0.1:9876",
            ns="n",
            boot="b",
            journal=writer,
            journal_files=files,
        )

    def record(self, event: Event, *, at_ms: int = 1) -> int:
        """Append to the journal, then publish, as server/state/recorder.py does."""
        if self.writer is None:
            self._seq += 1
            seq = self._seq
        else:
            seq = self.writer.append(event, at_ms)
        self.feed.publish(Record(FORMAT_VERSION, "n", "b", seq, at_ms, event))
        return seq

    @asynccontextmanager
    async def client(self, *, hosts: str = "") -> AsyncIterator[httpx.AsyncClient]:
        """An HTTP client of the application, without a socket; not for streams."""
        parts = Parts(self.context)
        app = Guard(create_app(parts), self.context, hosts=allowed_hosts("127.0.0.1", setting=hosts))
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8876") as client:
                yield client
        finally:
            parts.close()


@contextmanager
def rig(
    files: Files | None = None, *, options: JournalOptions | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Rig]:
    """A rig with a journal, by default in memory."""
    files = files if files is not None else FaultyFiles()
    options = options or JournalOptions(commit_ms=1)
    writer = open_journal(files, ns="n", boot="b", options=options, now_ms=lambda: 1).writer
    writer.start()
    try:
        yield Rig(writer, files, settings)
    finally:
        writer.stop()


async def get_json(client: httpx.AsyncClient, path: str) -> Any:
    """The body of a successful response."""
    response = await client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def problem_of(response: httpx.Response, status: int) -> dict[str, str]:
    """The body of an error response, which has an error and a hint."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    problem: dict[str, str] = response.json()
    assert set(problem) == {"error", "hint"}
    assert all(problem.values())
    return problem


def change(number: int, *, namespace: str = "N") -> KvChanged:
    """A distinct event for each number."""
    return KvChanged(namespace=namespace, key=str(number), after="v")


async def until(condition: Callable[[], bool]) -> None:
    """Yield to other tasks until the condition holds; the timeout of the test is the limit."""
    for _ in count():
        if condition():
            return
        await asyncio.sleep(0.001)


class ServerSent(NamedTuple):
    """One event of a stream as a browser dispatches it; `id` is the last one received."""

    id: str
    event: str
    data: str

    @property
    def json(self) -> dict[str, object]:
        value = msgspec.json.decode(self.data)
        assert isinstance(value, dict)
        return value


class StreamParser:
    """Server-sent events out of bytes, after the standard."""

    def __init__(self) -> None:
        self._rest = b""
        self._event, self._data = "", list[str]()
        self.id = ""
        self.comments = 0

    def feed(self, chunk: bytes) -> list[ServerSent]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = []
        for line in lines:
            name, _, value = line.decode().partition(":")
            value = value.removeprefix(" ")
            if not line:
                if self._data:
                    found.append(ServerSent(self.id, self._event or "message", "\n".join(self._data)))
                self._event, self._data = "", []
            elif not name:
                self.comments += 1
            elif name == "event":
                self._event = value
            elif name == "data":
                self._data.append(value)
            elif name == "id":
                self.id = value
        return found

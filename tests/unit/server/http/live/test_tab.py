"""The bounded queue of one console."""

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from routebook.server.http.live.tab import Tab
from tests.support.asynchronous import asynchronous


class Socket:
    """An ASGI WebSocket; `stall` blocks sending."""

    def __init__(self) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self.incoming: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.open.wait()
        self.sent.append(message)

    @property
    def texts(self) -> list[str]:
        return [message["text"] for message in self.sent if message["type"] == "websocket.send"]

    @property
    def closed(self) -> tuple[int, str] | None:
        ends = [(message["code"], message["reason"]) for message in self.sent if message["type"] == "websocket.close"]
        return ends[0] if ends else None


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@asynchronous
async def test_messages_are_sent_in_order_until_the_console_disconnects() -> None:
    tab, socket = Tab(), Socket()
    serving = asyncio.create_task(tab.serve(socket.incoming.get, socket.send))
    for number in range(1, 4):
        tab.push(str(number), seq=number)
    await settled()
    assert (socket.texts, tab.done) == (["1", "2", "3"], 3)
    await socket.incoming.put({"type": "websocket.disconnect", "code": 1001})
    await serving
    assert socket.closed is None


@asynchronous
async def test_a_stalled_console_is_dropped_with_the_number_to_resume_after() -> None:
    tab, socket = Tab(), Socket()
    serving = asyncio.create_task(tab.serve(socket.incoming.get, socket.send))
    tab.push("first", seq=7)
    await settled()
    socket.open.clear()
    for number in range(100):
        tab.push("more", seq=8 + number)
    assert tab.dropped
    await settled()
    socket.open.set()
    await serving
    assert json.loads(socket.texts[-1]) == {"type": "dropped", "resume_after": 7, "why": "read too slowly"}
    assert socket.closed == (4408, "read too slowly; resume after 7")
    tab.push("late", seq=200)
    assert "late" not in socket.texts


@asynchronous
async def test_queued_characters_are_bounded_but_one_message_always_fits() -> None:
    tab = Tab()
    tab.push("x" * (8 << 20), seq=1)
    assert not tab.dropped
    tab.push("y", seq=2)
    assert tab.dropped


@asynchronous
async def test_queued_messages_are_sent_before_the_close() -> None:
    tab, socket = Tab(), Socket()
    tab.push("last message", seq=1)
    tab.end(1012, "the server stops")
    tab.push("too late", seq=2)
    await tab.serve(socket.incoming.get, socket.send)
    assert socket.texts == ["last message"]
    assert socket.closed == (1012, "the server stops")


@asynchronous
@pytest.mark.parametrize("muted", [True, False])
async def test_a_muted_tab_cannot_subscribe_to_events(muted: bool) -> None:
    tab, socket = Tab(muted=muted), Socket()
    serving = asyncio.create_task(tab.serve(socket.incoming.get, socket.send))
    await socket.incoming.put({"type": "websocket.receive", "text": '{"type":"watch","kinds":["kv_changed"]}'})
    await settled()
    assert tab.off is muted
    await socket.incoming.put({"type": "websocket.disconnect"})
    await serving

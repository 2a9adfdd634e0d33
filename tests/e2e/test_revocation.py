"""A changed secret or a removed identity ends console sessions, event streams and WebSockets within a second."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from routebook.server.server import Server
from tests.support.asynchronous import asynchronous
from tests.support.in_process_server import running, serving_http
from tests.support.signing import IDENTITIES, identities_file

DEADLINE_S: Final = 60.0
OPS: Final = ("ops-key", "secret-of-ops")
_OPS_TABLE: Final = IDENTITIES[
    IDENTITIES.index('\n[[identity]]\nname = "ops"') : IDENTITIES.index('\n[[identity]]\nname = "far"')
]

Change = Callable[[str], str]
CHANGES: Final[dict[str, Change]] = {
    "secret": lambda text: text.replace("secret-of-ops", "another-secret"),
    "access key": lambda text: text.replace("ops-key", "other-key"),
    "removed": lambda text: text.replace(_OPS_TABLE, ""),
    "certificates": lambda text: text.replace(_OPS_TABLE, f'{_OPS_TABLE}certificates = ["x"]\n'),
}


class Rig:
    """A server with HTTP, and the file of its identities."""

    def __init__(self, server: Server, url: str, file: Path) -> None:
        self.server, self.url, self.file = server, url, file

    def change(self, change: Change) -> None:
        text = change(IDENTITIES)
        assert text != IDENTITIES
        identities_file(self.file, text)


@asynccontextmanager
async def rig(folder: Path) -> AsyncIterator[Rig]:
    file = identities_file(folder / "ids.toml")
    async with running(folder / "home", routebook_auth_file=file) as server, serving_http(server) as address:
        yield Rig(server, f"http://{address}", file)


async def log_in(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/session", json={"access_key": OPS[0], "secret_key": OPS[1]})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["csrf"])


async def put(client: httpx.AsyncClient, csrf: str) -> int:
    entry = {"namespace": "n", "key": "k", "value": "v", "dry_run": False}
    answer = await client.post("/v1/admin/kv", json=entry, headers={"x-routebook-csrf": csrf})
    return answer.status_code


async def receive_to_the_end(socket: ClientConnection) -> None:
    while True:
        await socket.recv()


@pytest.mark.parametrize("how", CHANGES)
@asynchronous
async def test_a_revoked_session_can_neither_read_nor_write(tmp_path: Path, how: str) -> None:
    async with rig(tmp_path) as some, httpx.AsyncClient(base_url=some.url, timeout=DEADLINE_S) as client:
        csrf = await log_in(client)
        assert await put(client, csrf) == 200
        some.change(CHANGES[how])
        some.server.access.reload()  # type: ignore[union-attr]
        assert await put(client, csrf) == 401
        assert (await client.get("/v1/kv")).status_code == 401
        shown = (await client.get("/v1/session")).json()
        assert (shown["who"], shown["csrf"]) == (None, None)


@asynchronous
async def test_a_session_survives_changes_of_other_identities_and_uses_new_rights(tmp_path: Path) -> None:
    async with rig(tmp_path) as some, httpx.AsyncClient(base_url=some.url, timeout=DEADLINE_S) as client:
        csrf = await log_in(client)
        some.change(lambda text: text.replace("secret-of-client", "another-secret"))
        some.server.access.reload()  # type: ignore[union-attr]
        assert await put(client, csrf) == 200
        reduced = _OPS_TABLE.replace("admin_write", "admin_read")
        some.change(lambda text: text.replace(_OPS_TABLE, reduced))
        some.server.access.reload()  # type: ignore[union-attr]
        assert await put(client, csrf) == 403
        assert (await client.get("/v1/kv")).status_code == 200


@pytest.mark.parametrize("how", [*CHANGES, "rights"])
@asynchronous
async def test_streams_and_websockets_end(tmp_path: Path, how: str) -> None:
    reduced = _OPS_TABLE.replace("admin_write", "route_read")
    change = CHANGES.get(how, lambda text: text.replace(_OPS_TABLE, reduced))
    async with (
        rig(tmp_path) as some,
        httpx.AsyncClient(base_url=some.url, timeout=DEADLINE_S) as client,
        asyncio.timeout(DEADLINE_S),
    ):
        await log_in(client)
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        live = some.url.replace("http:", "ws:") + "/v1/live"
        async with (
            client.stream("GET", "/v1/events", auth=OPS) as by_secret,
            client.stream("GET", "/v1/events") as by_session,
            client.stream("GET", "/v1/events", auth=("certified", "x")) as denied,
            connect(live, additional_headers={"cookie": cookie}) as socket,
        ):
            assert (by_secret.status_code, by_session.status_code, denied.status_code) == (200, 200, 401)
            assert json.loads(await socket.recv())["type"] == "hello"
            some.change(change)
            began = time.monotonic()
            for stream in (by_secret, by_session):
                async for _ in stream.aiter_bytes():
                    pass
            with pytest.raises(ConnectionClosed) as closed:
                await receive_to_the_end(socket)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
            # the file is checked twice a second; the rest is for a busy machine
            assert time.monotonic() - began < 10


@asynchronous
async def test_streams_of_other_identities_continue(tmp_path: Path) -> None:
    async with (
        rig(tmp_path) as some,
        httpx.AsyncClient(base_url=some.url, timeout=DEADLINE_S) as client,
        asyncio.timeout(DEADLINE_S),
        client.stream("GET", "/v1/events", auth=OPS) as stream,
    ):
        chunks = stream.aiter_bytes()
        assert b"routebook" in await anext(chunks)
        some.change(lambda text: text.replace("secret-of-client", "another-secret"))
        some.server.access.reload()  # type: ignore[union-attr]
        async with httpx.AsyncClient(base_url=some.url, auth=OPS, timeout=DEADLINE_S) as other:
            assert await put(other, "") == 200
        text = b""
        while b"kv_changed" not in text:
            text += await anext(chunks)

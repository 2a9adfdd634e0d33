"""The HTTP port opens at once; a failure of HTTP does not affect the NameServer."""

import asyncio
import logging
import socket

import pytest

from routebook.errors import ListenError
from routebook.server.http import serving
from routebook.server.http.listener import HttpListener
from tests.support.asynchronous import asynchronous
from tests.support.http import rig, until


def test_a_port_in_use_fails_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}: the port is in use .* --http HOST:PORT"):
            HttpListener(host="127.0.0.1", port=port)


@asynchronous
async def test_a_failing_http_server_is_logged_and_releases_the_port(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(serving, "create_app", broken)
    with rig() as some, caplog.at_level(logging.ERROR):
        listener = HttpListener(host="127.0.0.1", port=0)
        listener.start(some.context)
        await until(lambda: bool(caplog.records))
        assert caplog.records[0].message == "http does not serve"
        await asyncio.sleep(0)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", listener.port)
        await listener.stop()

"""A complete NameServer in the test process, on a free port of 127.0.0.1."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from routebook.client.client import NameServerClient
from routebook.kv import KvStore
from routebook.model import TopicRoute
from routebook.server.server import Server
from routebook.server.state.home import Home
from routebook.settings import Settings, from_options
from routebook.testing.local_server import HOST, LocalServer
from routebook.testing.loop_thread import LoopThread

_POLL_S: Final = 0.005
# TLS is off, because a certificate takes time; enable it with {"routebook.tls.mode": "permissive"}.
_DEFAULTS: Final = {"routebook.listen": f"{HOST}:0", "routebook.tls.mode": "disabled", "routebook.drainSeconds": "0"}


class LocalNameServer(LocalServer[Server]):
    """The real server."""

    _name = "NameServer"

    def __init__(self, *, settings: Mapping[str, str] | None = None, home: Path | None = None) -> None:
        """`settings` by key (Java or Routebook); with a `home` folder the server keeps a journal there."""
        super().__init__()
        self._given = {**_DEFAULTS, **(settings or {})}
        self._folder = home
        self._home: Home | None = None

    def topics(self) -> list[str]:
        """Return all topics, including system topics."""
        return self._look(lambda server: server.nameserver.routes.topics())

    def brokers(self) -> dict[str, dict[int, str]]:
        """Return addresses by broker name and id."""

        def look(server: Server) -> dict[str, dict[int, str]]:
            info = server.nameserver.routes.cluster_info()
            return {name: dict(data.broker_addrs) for name, data in info.broker_addr_table.items()}

        return self._look(look)

    def route(self, topic: str) -> TopicRoute | None:
        """Return the route of a topic, or None."""
        return self._look(lambda server: server.nameserver.routes.route(topic, server.nameserver.settings.policy))

    def wait_for_route(self, topic: str, *, gone: bool = False, timeout_s: float = 5.0) -> TopicRoute | None:
        """Wait until the topic has a route and return it; with `gone`, until it has none. Raises AssertionError."""
        deadline = time.monotonic() + timeout_s
        while ((route := self.route(topic)) is None) is not gone:
            if time.monotonic() > deadline:
                state = "still has a" if gone else "has no"
                raise AssertionError(f"after {timeout_s:g} s {self.address} {state} route of topic {topic!r}")
            time.sleep(_POLL_S)
        return route

    def client(self, *, timeout_s: float = 3.0) -> NameServerClient:
        """Return a client of this NameServer: `async with nameserver.client() as client`."""
        return NameServerClient(self.address, timeout_s=timeout_s)

    def _start(self, thread: LoopThread) -> Server:
        given = {**self._given, **({"routebook.listen": self.address} if self.port else {})}
        options = from_options([(key, value, "test") for key, value in given.items()])
        settings = Settings.build([options], home=str(self._folder or ""), file=None)
        if self._folder is not None:
            self._home = Home.open(self._folder)
        server = Server.open(settings, kv=None if self._home is not None else KvStore(), home=self._home)
        thread.run(server.start())
        self.port = server.port
        return server

    def _stop(self, server: Server, thread: LoopThread) -> None:
        thread.run(server.stop("the test is over"))

    def _end(self) -> None:
        super()._end()
        if self._home is not None:
            self._home.close()
            self._home = None

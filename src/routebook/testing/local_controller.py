"""A complete Controller in the test process, on a free port of 127.0.0.1."""

import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from routebook.controller.state import BrokerSet
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.controller.node import ControllerNode
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import Settings, from_options
from routebook.testing.local_server import HOST, LocalServer
from routebook.testing.loop_thread import LoopThread

_DEFAULTS: Final = {
    "controllerDLegerGroup": "test",
    "controllerDLegerSelfId": "n0",
    "routebook.tls.mode": "disabled",
    "routebook.drainSeconds": "0",
}


class LocalController(LocalServer[ControllerNode]):
    """One node with SQLite. `address` is for controllerAddr of brokers."""

    _name = "Controller"

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None) -> None:
        """The state is in `folder`; `settings` by key (Java or Routebook)."""
        super().__init__()
        self._folder = folder
        self._given = {**_DEFAULTS, **(settings or {})}

    def _start(self, thread: LoopThread) -> ControllerNode:
        self.port = self.port or _free_port()
        given = {**self._given, "controllerDLegerPeers": f"n0-{self.address}"}
        options = from_options([(key, value, "test") for key, value in given.items()])
        settings = Settings.build([options], home=str(self._folder), file=None, is_controller=True)
        node = ControllerNode.open(settings)
        thread.run(_start(node, settings))
        return node

    def _stop(self, server: ControllerNode, thread: LoopThread) -> None:
        thread.run(server.stop())

    def sets(self) -> dict[str, BrokerSet]:
        """Return the broker sets by name: replicas, master, epochs and sync-state set."""
        return self._look(lambda node: dict(node.machine.sets))

    def master(self, broker: str) -> str | None:
        """Return the address of a set's master, or None."""
        found = self.sets().get(broker)
        return None if found is None else found.master_address


async def _start(node: ControllerNode, settings: Settings) -> None:
    clock, event_log = Clock(), EventLog(time.monotonic)
    recorder = Recorder(event_log=event_log, ns="test", boot="")
    tls = TlsContexts(settings.tls)
    tls.load()
    denials = Denials(recorder, clock.wall_ms)
    await node.start(clock=clock, tls=tls, denials=denials, event_log=event_log, recorder=recorder, access=None)


def _free_port() -> int:
    """A port that is free now: the own entry in controllerDLegerPeers must name it before the start."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])

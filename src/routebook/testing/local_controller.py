"""A complete Controller in the test process, on a free port of 127.0.0.1."""

import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self, TypeVar

from routebook.controller.state import BrokerSet
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.controller.node import ControllerNode
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import Settings, from_options
from routebook.testing.loop_thread import LoopThread

T = TypeVar("T")

_HOST: Final = "127.0.0.1"
_DEFAULTS: Final = {
    "controllerDLegerGroup": "test",
    "controllerDLegerSelfId": "n0",
    "routebook.tls.mode": "disabled",
    "routebook.drainSeconds": "0",
}


class LocalController:
    """One node with SQLite on its own thread. Methods may be called from any thread and block until done."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None) -> None:
        """The state is in `folder`; `settings` by key (Java or Routebook)."""
        self._folder = folder
        self._given = {**_DEFAULTS, **(settings or {})}
        self._node: ControllerNode | None = None
        self._thread: LoopThread | None = None
        self.host = _HOST
        self.port = 0

    @property
    def address(self) -> str:
        """`127.0.0.1:PORT`, for controllerAddr of brokers."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Start; a restart uses the same port and state."""
        if self._node is not None:
            raise RuntimeError(f"the Controller at {self.address} is already running")
        self.port = self.port or _free_port()
        given = {**self._given, "controllerDLegerPeers": f"n0-{self.address}"}
        options = from_options([(key, value, "test") for key, value in given.items()])
        settings = Settings.build([options], home=str(self._folder), file=None, is_controller=True)
        self._thread = LoopThread("local-controller")
        try:
            node = ControllerNode.open(settings)
            self._thread.run(_start(node, settings))
        except BaseException:  # cleanup only: re-raised
            self._end()
            raise
        self._node = node

    def stop(self) -> None:
        """Stop gracefully; does nothing if it is not running."""
        node, self._node = self._node, None
        if node is not None and self._thread is not None:
            self._thread.run(node.stop())
        self._end()

    def restart(self) -> None:
        """Stop and start on the same port with the same state."""
        self.stop()
        self.start()

    def sets(self) -> dict[str, BrokerSet]:
        """Return the broker sets by name: replicas, master, epochs and sync-state set."""
        return self._look(lambda node: dict(node.machine.sets))

    def master(self, broker: str) -> str | None:
        """Return the address of a set's master, or None."""
        found = self.sets().get(broker)
        return None if found is None else found.master_address

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _look(self, look: Callable[[ControllerNode], T]) -> T:
        node = self._node
        if node is None or self._thread is None:
            raise RuntimeError("the Controller is not running; call start()")
        return self._thread.call(lambda: look(node))

    def _end(self) -> None:
        if self._thread is not None:
            self._thread.close()
            self._thread = None


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
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])

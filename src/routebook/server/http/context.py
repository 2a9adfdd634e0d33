"""The parts of the server that the HTTP port reads."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from routebook.handlers import NameServer
from routebook.journal.files import Files
from routebook.journal.write.writer import Writer
from routebook.server.clock import Clock
from routebook.server.observe.health import Health
from routebook.server.observe.loop_lag import LoopLag
from routebook.server.state.feed import Feed
from routebook.wire.command import Command, Reply

if TYPE_CHECKING:
    from pathlib import Path

    from routebook.access.identity import Identity
    from routebook.controller.machine import Machine
    from routebook.controller.overview import NodeOverview
    from routebook.controller.record import Origin
    from routebook.history.query.history import History
    from routebook.peers.monitor import Peers
    from routebook.server.access.denials import Denials
    from routebook.server.access.identities_file import IdentitiesFile
    from routebook.server.net.effects import EffectRunner
    from routebook.server.net.traffic import Traffic
    from routebook.server.observe.controller_meter import ControllerMeter


class ControllerPart(Protocol):
    """The Controller node of this process."""

    @property
    def machine(self) -> "Machine": ...

    @property
    def meter(self) -> "ControllerMeter": ...

    @property
    def etcd_problems(self) -> Mapping[tuple[str, str], int]:
        """Failed and late requests by endpoint and kind."""
        ...

    def overview(self) -> "NodeOverview": ...

    async def ask(self, command: Command, origin: "Origin") -> Reply:
        """Answer a request like the Controller's port."""
        ...


@dataclass(kw_only=True, slots=True)
class HttpContext:
    """One server. Optional parts are None while they are disabled; `journal` and `journal_files` come together."""

    nameserver: NameServer
    traffic: "Traffic"
    health: Health
    feed: Feed
    now_ms: Callable[[], int]
    listen: str  # address of the NameServer port
    ns: str
    boot: str
    journal: Writer | None = None
    journal_files: Files | None = None
    history: "History | None" = None
    peers: "Peers | None" = None
    access: "IdentitiesFile | None" = None  # None: authentication is off
    denials: "Denials | None" = None
    session_identity: "Callable[[Sequence[tuple[bytes, bytes]], str], Identity | None] | None" = None  # headers, host
    controller: ControllerPart | None = None
    only_controller: bool = False  # the process has no NameServer; `nameserver` is empty
    home: "Path | None" = None
    effects: "EffectRunner | None" = None  # applies the outcomes of administrators' requests
    wall_ms: Callable[[], int] = Clock.wall_ms
    loop_lag: LoopLag = field(default_factory=LoopLag)
    http_requests: Counter[tuple[str, int]] = field(default_factory=Counter)  # by route and status
    watchers: int = 0  # open event streams and consoles
    comparisons: int = 0  # with other NameServers, in progress

    @property
    def has_console(self) -> bool:
        return self.nameserver.settings.console.enabled and not self.only_controller

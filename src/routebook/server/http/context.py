"""What the HTTP side looks at: the server's parts, to be read only. A part that comes later, or never, is None."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from routebook.handlers import NameServer
from routebook.history.query.answers import PastBrokers, PastRoute
from routebook.journal.files import Files
from routebook.journal.write.writer import Writer
from routebook.server.clock import Clock
from routebook.server.observe.health import Health
from routebook.server.observe.loop_lag import LoopLag
from routebook.server.state.feed import Feed

if TYPE_CHECKING:
    from pathlib import Path

    from routebook.access.identity import Identity
    from routebook.peers.monitor import PeerStatus
    from routebook.server.access.denials import Denials
    from routebook.server.access.identities_file import AccessFile
    from routebook.server.net.effects import Performer
    from routebook.server.net.traffic import Traffic
    from routebook.server.state.recorder import Recorder


class Past(Protocol):
    """History, as far as HTTP asks it. Called on a thread; raises RoutebookError where it cannot tell."""

    def route_at(self, topic: str, at_ms: int) -> PastRoute: ...

    def brokers_at(self, at_ms: int) -> PastBrokers: ...


class PeerReports(Protocol):
    """The comparison with other NameServers, as far as HTTP asks it."""

    def report(self) -> "list[PeerStatus]": ...


class Sessions(Protocol):
    """Log-ins: whom the headers of a request, coming from this host, stand for."""

    def __call__(self, headers: Sequence[tuple[bytes, bytes]], host: str, /) -> "Identity | None": ...


@dataclass(kw_only=True, slots=True)
class HttpContext:
    """One server. `journal` and `journal_files` are both there or neither is."""

    nameserver: NameServer
    traffic: "Traffic"
    health: Health
    feed: Feed
    now_ms: Callable[[], int]
    listen: str  # where the NameServer listens
    ns: str
    boot: str
    journal: Writer | None = None
    journal_files: Files | None = None
    history: Past | None = None
    peers: PeerReports | None = None
    access: "AccessFile | None" = None  # None: authentication is off
    denials: "Denials | None" = None
    sessions: "Sessions | None" = None  # who a cookie stands for
    home: "Path | None" = None
    recorder: "Recorder | None" = None  # with `performer`, what administrators' requests go through
    performer: "Performer | None" = None
    wall_ms: Callable[[], int] = Clock.wall_ms
    loop_lag: LoopLag = field(default_factory=LoopLag)
    http_requests: dict[tuple[str, int], int] = field(default_factory=dict)  # by route and status
    watchers: int = 0  # of /v1/events, those that are still catching up included; and open consoles
    comparisons: int = 0  # with other NameServers, that are under way

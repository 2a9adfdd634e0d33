"""What the HTTP side looks at: the server's parts, to be read only. Parts that come later, or never, are None until then."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from routebook.handlers import NameServer
from routebook.history.answers import PastBrokers, PastRoute
from routebook.journal.files import Files
from routebook.journal.writer import Writer
from routebook.server.connection import Shared
from routebook.server.feed import Feed
from routebook.server.health import Health
from routebook.server.timing import LoopDelay


class Past(Protocol):
    """History, as far as HTTP asks it. Called on a thread; raises RoutebookError where it cannot tell."""

    def route_at(self, topic: str, at_ms: int) -> PastRoute: ...

    def brokers_at(self, at_ms: int) -> PastBrokers: ...


class PeerReports(Protocol):
    """The comparison with other NameServers, as far as HTTP asks it: a msgspec struct per peer."""

    def report(self) -> list[object]: ...


@dataclass(kw_only=True, slots=True)
class HttpContext:
    """One server. `journal` and `journal_files` are both there or neither is."""

    nameserver: NameServer
    shared: Shared
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
    loop_delay: LoopDelay = field(default_factory=LoopDelay)
    http_requests: dict[tuple[str, int], int] = field(default_factory=dict)  # by route and status

"""What the Controller's service asks of a log engine, and the errors an engine raises."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from routebook.controller.state import BrokerSet, Event
from routebook.errors import RoutebookError


class NotLeader(RoutebookError):
    """This node does not lead (any more): the change is not committed."""


class LogError(RoutebookError):
    """The engine cannot commit or be opened: what failed, where, what to do."""


class Node(msgspec.Struct, frozen=True):
    """A controller node: its id and address as in controllerDLegerPeers."""

    id: str
    address: str


class LogListener(msgspec.Struct, frozen=True):
    """Callbacks of a log: all sets at once, one set that another node changed, leadership gained or lost."""

    on_sets: Callable[[Mapping[str, BrokerSet]], None]
    on_set: Callable[[str, BrokerSet | None], None]
    on_leading: Callable[[bool], None]


class Log(Protocol):
    """Durable broker sets. A change is committed when `commit` returns."""

    @property
    def leader(self) -> Node | None:
        """The node that leads, as far as this one knows."""

    @property
    def is_leader(self) -> bool:
        """Whether this node may answer requests for the leader now."""

    @property
    def problem(self) -> str | None:
        """Why the engine cannot commit at the moment, for health; None: it can."""

    async def start(self, listener: LogListener) -> None:
        """Open the log. Callbacks may come before this returns."""

    async def commit(self, event: Event, state: BrokerSet | None) -> None:
        """Store an event and the state of its set after it. Raises NotLeader or LogError."""

    async def stop(self) -> None:
        """Give up leadership and close."""

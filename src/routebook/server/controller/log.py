"""What the Controller's service asks of a log engine, and the errors an engine raises."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from routebook.controller.state import BrokerSet, Event
from routebook.errors import RoutebookError


class NotLeader(RoutebookError):
    """This node does not lead (any more): the change is not committed."""


class LogError(RoutebookError):
    """The engine cannot commit or be opened: what failed, where, what to do. A change may have been committed."""


class Node(msgspec.Struct, frozen=True):
    """A controller node: its id and address as in controllerDLegerPeers."""

    id: str
    address: str


class LogListener(msgspec.Struct, frozen=True):
    """Callbacks of a log: all sets at once, one set that changed, leadership gained or lost.

    A set changes for its listener when a commit of any node has become certain, in the order of the commits.
    """

    on_sets: Callable[[Mapping[str, BrokerSet]], None]
    on_set: Callable[[str, BrokerSet | None], None]
    on_leading: Callable[[bool], None]
    on_problem: Callable[[str], None] = lambda _why: None  # each time that the engine fails


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

    @property
    def problems(self) -> Mapping[tuple[str, str], int]:
        """Failed and late requests to a remote engine, by endpoint and kind."""

    async def start(self, listener: LogListener) -> None:
        """Open the log. Callbacks may come before this returns."""

    async def commit(self, event: Event, state: BrokerSet | None) -> None:
        """Store an event and the state of its set after it, and call `on_set`.

        Raises NotLeader if it is not and will not be committed, LogError if that is unknown.
        """

    async def confirm(self) -> None:
        """Check with the engine that this node leads now: what it has read is current. Raises NotLeader or LogError."""

    async def stop(self) -> None:
        """Give up leadership and close."""

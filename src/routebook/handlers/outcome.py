"""The outcome of a request: a reply, events, and effects to perform."""

import msgspec
from msgspec.structs import force_setattr

from routebook.access.identity import Identity
from routebook.effects import Effect
from routebook.events import Event
from routebook.wire.command import Reply


class Caller(msgspec.Struct, frozen=True, gc=False):
    """The sender of a request: an opaque connection id, its address for logs, and its authenticated identity."""

    connection: int
    address: str
    identity: Identity | None = None
    host: str = ""  # the address without its port, which changes with each connection

    def __post_init__(self) -> None:
        force_setattr(self, "host", self.address.rpartition(":")[0].strip("[]"))

    @property
    def who(self) -> str | None:
        """The authenticated name."""
        return None if self.identity is None else self.identity.name


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """`reply` is None if an effect (AskProduct) provides it later."""

    reply: Reply | None
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()


OK = Reply()
DONE = Outcome(OK)

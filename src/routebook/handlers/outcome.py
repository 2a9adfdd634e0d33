"""What a request comes to: an answer, what happened, and what is still to be done."""

import msgspec
from msgspec.structs import force_setattr

from routebook.access.identity import Identity
from routebook.effects import Effect
from routebook.events import Event
from routebook.wire.command import Reply


class Caller(msgspec.Struct, frozen=True, gc=False):
    """Who asks: an opaque connection id, the peer's address for people to read, and who it has proven to be."""

    connection: int
    address: str
    identity: Identity | None = None
    host: str = ""  # of the address: ports change with every connection, and tell nothing

    def __post_init__(self) -> None:
        force_setattr(self, "host", self.address.rpartition(":")[0].strip("[]"))

    @property
    def who(self) -> str | None:
        """The proven name."""
        return None if self.identity is None else self.identity.name


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """`reply` None answers nothing yet: an effect (AskProduct) will."""

    reply: Reply | None
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()


OK = Reply()
DONE = Outcome(OK)

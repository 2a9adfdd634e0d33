"""What a request comes to: an answer, what happened, and what is still to be done."""

import msgspec

from routebook.effects import Effect
from routebook.events import Event
from routebook.rollup import LookupRow
from routebook.wire.command import Reply


class Caller(msgspec.Struct, frozen=True, gc=False):
    """Who asks: an opaque connection id, and the peer's address for people to read.

    `asked` is where its look-ups are counted, by topic; see `handlers.meter`.
    """

    connection: int
    address: str
    asked: dict[str, LookupRow] = {}


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """`reply` None answers nothing yet: an effect (AskProduct) will."""

    reply: Reply | None
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()


OK = Reply()
DONE = Outcome(OK)

"""The bases of all events. Pure."""

import msgspec


class BaseEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all kinds; `kind` is the tag in the journal."""


class RequestEvent(BaseEvent, frozen=True, kw_only=True):
    """Base of events that a request causes, with its sender if known."""

    peer: str | None = None  # the address of the sender
    who: str | None = None  # the authenticated name
    code: int | None = None  # the request code
